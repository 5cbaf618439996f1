import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { createTestApp, type TestApp, type TestResponse } from './app.ts'
import { createOrganization, createUser, createWorkspace, type TestUser } from './factories.ts'

/** A raw state in the engine's format, with string `outputs` and one resource for each name. */
export function rawState(
  input: {
    serial?: number
    lineage?: string
    outputs?: Record<string, unknown>
    resources?: string[]
    padding?: number
  } = {},
) {
  const outputs = Object.entries(input.outputs ?? {}).map(([name, output]) => [
    name,
    typeof output === 'string' ? { value: output, type: 'string' } : output,
  ])
  return Buffer.from(
    `${JSON.stringify(
      {
        version: 4,
        terraform_version: '1.11.4',
        serial: input.serial ?? 1,
        lineage: input.lineage ?? '8c6a3f0e-1f5c-4c2f-9d54-0d5c9f6f2a11',
        outputs: Object.fromEntries(outputs),
        resources: (input.resources ?? []).map((name) => ({
          mode: 'managed',
          type: 'terraform_data',
          name,
          provider: 'provider["terraform.io/builtin/terraform"]',
          instances: [{ schema_version: 0, attributes: { id: name, input: 'x'.repeat(input.padding ?? 0) } }],
        })),
        check_results: null,
      },
      null,
      2,
    )}\n`,
  )
}

export function md5(content: Buffer) {
  return createHash('md5').update(content).digest('hex')
}

/** The body of a request that creates a version from `raw`; `attributes` override the derived ones. */
export function stateVersionBody(raw: Buffer, attributes: Record<string, unknown> = {}) {
  const { serial, lineage } = JSON.parse(raw.toString())
  return {
    data: {
      type: 'state-versions',
      attributes: { serial, lineage, md5: md5(raw), state: raw.toString('base64'), ...attributes },
    },
  }
}

/** Uploads to a signed URL, without a token. */
export async function upload(app: TestApp, url: string, content: Buffer | string) {
  return app.request({ method: 'PUT', url: new URL(url).pathname, body: Buffer.from(content) })
}

/** Uploads to a signed URL without a declared length, in chunks. */
export async function uploadInChunks(app: TestApp, url: string, content: Buffer, headers: Record<string, string> = {}) {
  const chunks = Array.from({ length: 10 }, (_, n) => {
    const at = (share: number) => Math.round((content.length * share) / 10)
    return content.subarray(at(n), at(n + 1))
  })
  return app.request({ method: 'PUT', url: new URL(url).pathname, body: Readable.from(chunks), headers })
}

/** Downloads from a signed URL. */
export async function download(app: TestApp, url: string) {
  return app.request({ url: new URL(url).pathname })
}

/** A workspace as one user sees it through the API, with common actions on its states. */
export type StateClient = {
  id: string
  name: string
  request: (method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE', path: string, body?: unknown) => Promise<TestResponse>
  /** Posts a version with this content; `attributes` override the derived ones, `relationships` are added. */
  post: (raw: Buffer, attributes?: Record<string, unknown>, relationships?: object) => Promise<TestResponse>
  /** As `post`, but throws unless the version was created; returns its resource. */
  create: (raw: Buffer, attributes?: Record<string, unknown>) => Promise<any>
  current: () => Promise<TestResponse>
  /** The resource of a version. */
  show: (id: string) => Promise<any>
  rollBack: (id: string) => Promise<TestResponse>
  action: (id: string, action: string, attributes?: Record<string, unknown>) => Promise<TestResponse>
  lock: () => Promise<TestResponse>
  unlock: () => Promise<TestResponse>
  forceUnlock: () => Promise<TestResponse>
}

export function stateClient(app: TestApp, workspace: { id: string; name: string }, token: string): StateClient {
  const request: StateClient['request'] = async (method, path, body) =>
    app.request({ method, url: `/api/v2${path}`, token, ...(body !== undefined && { body }) })
  const post: StateClient['post'] = async (raw, attributes, relationships) => {
    const { data } = stateVersionBody(raw, attributes)
    return request('POST', `/workspaces/${workspace.id}/state-versions`, { data: { ...data, relationships } })
  }
  return {
    id: workspace.id,
    name: workspace.name,
    request,
    post,
    create: async (raw, attributes) => {
      const response = await post(raw, attributes)
      if (response.status !== 201) throw new Error(`the version was not created: ${response.status} ${response.text}`)
      return response.json().data
    },
    current: () => request('GET', `/workspaces/${workspace.id}/current-state-version`),
    show: async (id) => (await request('GET', `/state-versions/${id}`)).json().data,
    rollBack: (id) =>
      request('PATCH', `/workspaces/${workspace.id}/state-versions`, {
        data: {
          type: 'state-versions',
          relationships: { 'rollback-state-version': { data: { type: 'state-versions', id } } },
        },
      }),
    action: (id, action, attributes) =>
      request('POST', `/state-versions/${id}/actions/${action}`, attributes && { data: { attributes } }),
    lock: () => request('POST', `/workspaces/${workspace.id}/actions/lock`),
    unlock: () => request('POST', `/workspaces/${workspace.id}/actions/unlock`),
    forceUnlock: () => request('POST', `/workspaces/${workspace.id}/actions/force-unlock`),
  }
}

/** Creates a workspace in the organization, locked by the user. */
export async function lockedWorkspace(app: TestApp, organization: string, user: TestUser): Promise<StateClient> {
  const client = stateClient(app, await createWorkspace(app, { organization }), user.token)
  const response = await client.lock()
  if (response.status !== 200) throw new Error(`the workspace was not locked: ${response.text}`)
  return client
}

/** Fixtures of state tests: an app, a user and their organization. */
export async function createStateSetting() {
  const app = await createTestApp()
  const ada = await createUser(app)
  return { app, ada, organization: (await createOrganization(app, ada)).name }
}
