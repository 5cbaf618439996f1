import { gzipSync } from 'node:zlib'
import type { TestApp, TestResponse } from './app.ts'
import { createOrganization, createUser, createWorkspace, type TestUser } from './factories.ts'

/** An empty configuration archive, as `terraform destroy` sends. */
export const EMPTY_ARCHIVE = gzipSync(Buffer.alloc(1024))

export type RunSetting = {
  user: TestUser
  organization: string
  workspaceId: string
  workspaceName: string
  configurationVersionId: string
}

/** Creates a user, an organization, and a workspace with a configuration, ready for runs. */
export async function createRunSetting(
  app: TestApp,
  attributes: Record<string, unknown> = {},
  { isSiteAdmin = false } = {},
): Promise<RunSetting> {
  const user = await createUser(app, { isSiteAdmin })
  const organization = await createOrganization(app, user)
  return addWorkspace(app, { user, organization: organization.name, attributes })
}

export async function addWorkspace(
  app: TestApp,
  {
    user,
    organization,
    attributes = {},
  }: { user: TestUser; organization: string; attributes?: Record<string, unknown> },
): Promise<RunSetting> {
  const workspace = await createWorkspace(app, { organization, actor: user.actor, attributes })
  const version = await uploadConfiguration(app, { user, workspaceId: workspace.id })
  return {
    user,
    organization,
    workspaceId: workspace.id,
    workspaceName: workspace.name,
    configurationVersionId: version,
  }
}

export async function createConfigurationVersion(
  app: TestApp,
  { user, workspaceId }: { user: TestUser; workspaceId: string },
  attributes: Record<string, unknown> = {},
) {
  const response = await app.request({
    method: 'POST',
    url: `/api/v2/workspaces/${workspaceId}/configuration-versions`,
    token: user.token,
    body: { data: { type: 'configuration-versions', attributes: { 'auto-queue-runs': false, ...attributes } } },
  })
  return response.json().data
}

/** Creates and uploads a configuration version; returns its id. */
export async function uploadConfiguration(
  app: TestApp,
  target: { user: TestUser; workspaceId: string },
  attributes: Record<string, unknown> = {},
): Promise<string> {
  const version = await createConfigurationVersion(app, target, attributes)
  const upload = await put(app, version.attributes['upload-url'], EMPTY_ARCHIVE)
  if (upload.status !== 200) throw new Error(`the upload failed: ${upload.text}`)
  return version.id
}

/** Sends bytes to an upload URL by PUT, without a token. */
export async function put(app: TestApp, url: string, body: Buffer): Promise<TestResponse> {
  return app.request({ method: 'PUT', url: new URL(url).pathname, body })
}

export async function postRun(
  app: TestApp,
  setting: Pick<RunSetting, 'user' | 'workspaceId'>,
  {
    configurationVersionId,
    headers,
    token,
    ...attributes
  }: Record<string, unknown> & {
    configurationVersionId?: string
    headers?: Record<string, string>
    token?: string
  } = {},
): Promise<TestResponse> {
  return app.request({
    method: 'POST',
    url: '/api/v2/runs',
    token: token ?? setting.user.token,
    ...(headers && { headers }),
    body: {
      data: {
        type: 'runs',
        attributes,
        relationships: {
          workspace: { data: { type: 'workspaces', id: setting.workspaceId } },
          ...(configurationVersionId !== undefined && {
            'configuration-version': { data: { type: 'configuration-versions', id: configurationVersionId } },
          }),
        },
      },
    },
  })
}

/** Creates a run and returns its id. */
export async function createRun(
  app: TestApp,
  setting: Pick<RunSetting, 'user' | 'workspaceId'>,
  attributes: Parameters<typeof postRun>[2] = {},
): Promise<string> {
  const response = await postRun(app, setting, attributes)
  if (response.status !== 201) throw new Error(`creating the run failed: ${response.text}`)
  return response.json().data.id
}

/** The run's resource from the API. */
export async function readRun(app: TestApp, { user }: Pick<RunSetting, 'user'>, id: string) {
  return (await app.request({ url: `/api/v2/runs/${id}`, token: user.token })).json().data
}

export async function runStatus(app: TestApp, setting: Pick<RunSetting, 'user'>, id: string): Promise<string> {
  return (await readRun(app, setting, id)).attributes.status
}

/** Requests an action on a run: `apply`, `discard`, `cancel`, `force-cancel` or `force-execute`. */
export async function actOnRun(
  app: TestApp,
  { user }: Pick<RunSetting, 'user'>,
  { run, action, comment }: { run: string; action: string; comment?: string },
): Promise<TestResponse> {
  return app.request({
    method: 'POST',
    url: `/api/v2/runs/${run}/actions/${action}`,
    token: user.token,
    body: comment === undefined ? {} : { comment },
  })
}

export async function readWorkspace(app: TestApp, { user, workspaceId }: Pick<RunSetting, 'user' | 'workspaceId'>) {
  return (await app.request({ url: `/api/v2/workspaces/${workspaceId}`, token: user.token })).json().data
}
