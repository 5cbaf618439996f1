import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createUser, createWorkspace } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import {
  actOnRun,
  createConfigurationVersion,
  createRun,
  createRunSetting,
  EMPTY_ARCHIVE,
  put,
  readRun,
  readWorkspace,
  type RunSetting,
  uploadConfiguration,
} from '../../../testing/runs.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)

async function read(setting: RunSetting, path: string) {
  return app.request({ url: `/api/v2${path}`, token: setting.user.token })
}

async function post(setting: RunSetting, path: string) {
  return app.request({ method: 'POST', url: `/api/v2${path}`, token: setting.user.token })
}

describe('the current configuration of a workspace', () => {
  const current = async (setting: RunSetting) =>
    (await readWorkspace(app, setting)).relationships['current-configuration-version'].data.id

  test('is not a provisional one until that is applied', async () => {
    const setting = await createRunSetting(app, { 'auto-apply': true })
    const version = await uploadConfiguration(app, setting, { provisional: true })
    expect(await current(setting)).toBe(setting.configurationVersionId)

    await createRun(app, setting, { configurationVersionId: version })
    await (await agent.take()).finish()
    await (await agent.take()).finish()

    expect(await current(setting)).toBe(version)
  })

  test('is the awaited one while there is none, for a single workspace', async () => {
    const setting = await createRunSetting(app)
    const { user, organization } = setting
    const workspace = await createWorkspace(app, { organization, actor: user.actor })
    const ours = { ...setting, workspaceId: workspace.id }
    const relation = async () => {
      const { attributes, relationships } = await readWorkspace(app, ours)
      return [relationships['current-configuration-version'].data?.id, attributes['has-configuration']]
    }

    const before = await relation()
    const awaited = await createConfigurationVersion(app, ours)
    await createConfigurationVersion(app, ours, { provisional: true })
    await createConfigurationVersion(app, ours, { speculative: true })
    const pending = await relation()
    const path = `/organizations/${ours.organization}/workspaces?include=current_configuration_version`
    const listed = (await read(ours, path)).json().data.find(({ id }: any) => id === ours.workspaceId)
    const run = await app.request({
      method: 'POST',
      url: '/api/v2/runs',
      token: ours.user.token,
      body: {
        data: { type: 'runs', relationships: { workspace: { data: { type: 'workspaces', id: ours.workspaceId } } } },
      },
    })
    await put(app, awaited.attributes['upload-url'], EMPTY_ARCHIVE)

    expect(before).toEqual([undefined, false])
    expect(pending).toEqual([awaited.id, false])
    expect(listed.relationships['current-configuration-version'].data).toBeNull()
    expect(run.status).toBe(422)
    expect(await relation()).toEqual([awaited.id, true])
  })

  test('is the one that was created last, whatever the order of uploads', async () => {
    const setting = await createRunSetting(app)
    const [first, second] = [
      await createConfigurationVersion(app, setting),
      await createConfigurationVersion(app, setting),
    ]

    for (const { attributes } of [second, first]) await put(app, attributes['upload-url'], EMPTY_ARCHIVE)

    expect(await current(setting)).toBe(second.id)
  })

  test.each([
    ['an older one', false],
    ['an older provisional one', true],
  ])('does not go back when a run of %s is applied', async (_, provisional) => {
    const setting = await createRunSetting(app, { 'auto-apply': true })
    const older = await uploadConfiguration(app, setting, { provisional })
    const run = await createRun(app, setting, { configurationVersionId: older })
    const newer = await uploadConfiguration(app, setting)

    await (await agent.take()).finish()
    await (await agent.take()).finish()

    expect((await readRun(app, setting, run)).attributes.status).toBe('applied')
    expect(await current(setting)).toBe(newer)
  })
})

test.each([
  ['terraform+cloud', { 'terraform-version': '1.11.4', 'x-terraform-integration': 'cloud' }],
  ['terraform', { 'terraform-version': '1.11.4' }],
  ['tfe-api', {}],
])('versions and runs report %s as their source', async (source, headers) => {
  const setting = await createRunSetting(app)
  const { user, workspaceId } = setting

  const version = await app.request({
    method: 'POST',
    url: `/api/v2/workspaces/${workspaceId}/configuration-versions`,
    token: user.token,
    headers,
    body: { data: { type: 'configuration-versions', attributes: {} } },
  })
  const run = await createRun(app, setting, { headers })

  expect(version.json().data.attributes.source).toBe(source)
  expect((await readRun(app, setting, run)).attributes.source).toBe(source)
  const found = await read(setting, `/workspaces/${workspaceId}/runs?filter[source]=${encodeURIComponent(source)}`)
  expect(found.json().data.map(({ id }: any) => id)).toEqual([run])
  await actOnRun(app, setting, { run, action: 'cancel' })
})

test('versions are listed newest first, and hidden from strangers', async () => {
  const setting = await createRunSetting(app)
  const second = await uploadConfiguration(app, setting)
  const stranger = await createUser(app)

  const list = (await read(setting, `/workspaces/${setting.workspaceId}/configuration-versions`)).json()

  expect(list.data.map((version: any) => version.id)).toEqual([second, setting.configurationVersionId])
  const foreign = await app.request({ url: `/api/v2/configuration-versions/${second}`, token: stranger.token })
  expect(foreign.status).toBe(404)
  expect((await read(setting, `/configuration-versions/${second}/ingress-attributes`)).status).toBe(404)
})

test('the version of a run is shown, and its archive can be downloaded', async () => {
  const setting = await createRunSetting(app)
  const run = await createRun(app, setting, { 'plan-only': true })

  expect((await read(setting, `/runs/${run}/configuration-version`)).json().data.id).toBe(
    setting.configurationVersionId,
  )
  expect((await read(setting, `/runs/${run}/configuration-version/download`)).bytes).toEqual(EMPTY_ARCHIVE)
  await (await agent.take()).finish({ hasChanges: false })
})

test('a lost archive is not found, so that an agent requests it once', async () => {
  const setting = await createRunSetting(app)
  await createRun(app, setting)
  const job = await agent.take()
  const { blob_key: key } = await app.db
    .selectFrom('configuration_versions')
    .select('blob_key')
    .where('id', '=', setting.configurationVersionId)
    .executeTakeFirstOrThrow()
  await app.blobs.delete(key ?? '')

  const download = await job.configuration()

  expect(download.status).toBe(404)
  expect((await read(setting, `/configuration-versions/${setting.configurationVersionId}/download`)).status).toBe(404)
  await job.finish({ status: 'canceled' })
})

test('a version is archived when nothing needs it', async () => {
  const setting = await createRunSetting(app)
  const old = setting.configurationVersionId
  const current = await uploadConfiguration(app, setting)

  const refused = await post(setting, `/configuration-versions/${current}/actions/archive`)
  expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('because it is current')])

  expect((await post(setting, `/configuration-versions/${old}/actions/archive`)).status).toBe(202)
  expect((await read(setting, `/configuration-versions/${old}/download`)).status).toBe(404)
  expect((await post(setting, `/configuration-versions/${old}/actions/archive`)).text).toContain(
    'transition not allowed',
  )
})

test('owners soft-delete, restore and permanently delete backing data', async () => {
  const setting = await createRunSetting(app)
  const old = setting.configurationVersionId
  await uploadConfiguration(app, setting)
  const change = (action: string) => post(setting, `/configuration-versions/${old}/actions/${action}_backing_data`)

  expect((await change('permanently_delete')).status).toBe(400)
  expect((await change('soft_delete')).json().data.attributes.status).toBe('backing_data_soft_deleted')
  expect((await read(setting, `/configuration-versions/${old}/download`)).status).toBe(404)
  expect((await change('restore')).json().data.attributes.status).toBe('uploaded')
  await change('soft_delete')
  expect((await change('permanently_delete')).status).toBe(200)
  expect((await change('restore')).text).toContain('transition not allowed')
})
