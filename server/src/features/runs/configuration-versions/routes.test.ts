import { gzipSync } from 'node:zlib'
import { Header } from 'tar'
import { describe, expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import {
  actOnRun,
  createConfigurationVersion,
  createRun,
  createRunSetting,
  EMPTY_ARCHIVE,
  put,
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

/** An archive whose one link leads out of its folder. */
function leavingArchive() {
  const header = new Header({
    path: 'out',
    type: 'SymbolicLink',
    linkpath: '../../etc',
    mode: 0o644,
    mtime: new Date(0),
    size: 0,
  })
  header.encode()
  return gzipSync(Buffer.concat([header.block ?? Buffer.alloc(0), Buffer.alloc(1024)]))
}

describe('the run of an upload', () => {
  /** Uploads a version of somebody else's workspace, with a team that has this access to it; the runs that there are then. */
  async function uploadAs(level: 'plan' | 'write', between: (teamId: string) => Promise<unknown> = async () => {}) {
    const setting = await createRunSetting(app, { 'auto-apply': true })
    const user = await createUser(app)
    const { organization_id: organizationId } = await app.db
      .selectFrom('workspaces')
      .select('organization_id')
      .where('id', '=', setting.workspaceId)
      .executeTakeFirstOrThrow()
    const teamId = await createTeamWithAccess(app, {
      members: [user],
      organizationId,
      workspaces: { [setting.workspaceId]: level },
    })
    const target = { user, workspaceId: setting.workspaceId }
    const version = await createConfigurationVersion(app, target, { 'auto-queue-runs': true })
    await between(teamId)
    const answer = await put(app, version.attributes['upload-url'], EMPTY_ARCHIVE)
    expect(answer.status).toBe(200)
    const runs = (await read(setting, `/workspaces/${setting.workspaceId}/runs`)).json().data
    for (const run of runs) await actOnRun(app, setting, { run: run.id, action: 'cancel' })
    return runs.map(({ attributes, relationships }: any) => ({
      autoApply: attributes['auto-apply'],
      by: relationships['created-by'].data.id === user.id,
    }))
  }

  test('applies by itself when whoever made the version may apply, and else waits', async () => {
    expect(await uploadAs('write')).toEqual([{ autoApply: true, by: true }])
    expect(await uploadAs('plan')).toEqual([{ autoApply: false, by: true }])
  })

  test('is none when they may no longer plan', async () => {
    const leave = (teamId: string) => app.db.deleteFrom('team_members').where('team_id', '=', teamId).execute()

    expect(await uploadAs('write', leave)).toEqual([])
  })
})

describe('an upload', () => {
  test('makes the version uploaded, and its own of the workspace, before it is answered', async () => {
    const setting = await createRunSetting(app)
    const version = await createConfigurationVersion(app, setting)
    expect(version.attributes).toMatchObject({
      status: 'pending',
      source: 'tfe-api',
      speculative: false,
      provisional: false,
    })

    const answer = await put(app, version.attributes['upload-url'], EMPTY_ARCHIVE)

    expect(answer.status).toBe(200)
    const { attributes } = (await read(setting, `/configuration-versions/${version.id}`)).json().data
    expect(attributes).toMatchObject({ status: 'uploaded', 'upload-url': null, size: EMPTY_ARCHIVE.length })
    const workspace = await readWorkspace(app, setting)
    expect(workspace.relationships['current-configuration-version'].data.id).toBe(version.id)
    const download = await read(setting, `/configuration-versions/${version.id}/download`)
    expect(download.bytes).toEqual(EMPTY_ARCHIVE)
  })

  test('starts a run when the version asks for one', async () => {
    const setting = await createRunSetting(app)
    const version = await createConfigurationVersion(app, setting, { 'auto-queue-runs': true })

    await put(app, version.attributes['upload-url'], EMPTY_ARCHIVE)

    const shown = (await read(setting, `/configuration-versions/${version.id}?include=run`)).json()
    expect(shown.included[0]).toMatchObject({
      type: 'runs',
      attributes: { source: 'tfe-configuration-version', status: 'plan_queued' },
    })
    await actOnRun(app, setting, { run: shown.included[0].id, action: 'cancel' })
  })

  test('is taken once', async () => {
    const setting = await createRunSetting(app)
    const version = await createConfigurationVersion(app, setting)

    const answers = await Promise.all([1, 2, 3].map(() => put(app, version.attributes['upload-url'], EMPTY_ARCHIVE)))

    expect(answers.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([200, 422, 422])
    expect((await put(app, version.attributes['upload-url'], EMPTY_ARCHIVE)).text).toContain('can be uploaded once')
  })

  test.each([
    ['that is no archive', Buffer.from('nope')],
    ['that leaves its folder', leavingArchive()],
    ['that is empty', Buffer.alloc(0)],
  ])('%s is refused, and the version says why', async (_, archive) => {
    const setting = await createRunSetting(app)
    const version = await createConfigurationVersion(app, setting)

    const answer = await put(app, version.attributes['upload-url'], archive)

    expect(answer.status).toBe(422)
    const { attributes } = (await read(setting, `/configuration-versions/${version.id}`)).json().data
    expect(attributes.status).toBe('errored')
    expect(attributes['error-message']).not.toBeNull()
  })

  test('takes an URL of ours that is not too old', async () => {
    const setting = await createRunSetting(app)
    const version = await createConfigurationVersion(app, setting)
    const url = version.attributes['upload-url']

    expect((await put(app, `${url}x`, EMPTY_ARCHIVE)).status).toBe(404)
    app.clock.advance(26 * 3_600_000)
    expect((await put(app, url, EMPTY_ARCHIVE)).status).toBe(404)
  })

  test('of a provisional version changes nothing until it is applied', async () => {
    const setting = await createRunSetting(app, { 'auto-apply': true })
    const version = await uploadConfiguration(app, setting, { provisional: true })
    const current = async () =>
      (await readWorkspace(app, setting)).relationships['current-configuration-version'].data.id
    expect(await current()).toBe(setting.configurationVersionId)

    await createRun(app, setting, { configurationVersionId: version })
    await (await agent.take()).finish()
    await (await agent.take()).finish()

    expect(await current()).toBe(version)
  })
})

test('versions are listed, the newest first, and hidden from strangers', async () => {
  const setting = await createRunSetting(app)
  const second = await uploadConfiguration(app, setting)
  const stranger = await createUser(app)

  const list = (await read(setting, `/workspaces/${setting.workspaceId}/configuration-versions`)).json()

  expect(list.data.map((version: any) => version.id)).toEqual([second, setting.configurationVersionId])
  const foreign = await app.request({ url: `/api/v2/configuration-versions/${second}`, token: stranger.token })
  expect(foreign.status).toBe(404)
  expect((await read(setting, `/configuration-versions/${second}/ingress-attributes`)).status).toBe(404)
})

test('a run shows its version and gives its archive', async () => {
  const setting = await createRunSetting(app)
  const run = await createRun(app, setting, { 'plan-only': true })

  expect((await read(setting, `/runs/${run}/configuration-version`)).json().data.id).toBe(
    setting.configurationVersionId,
  )
  expect((await read(setting, `/runs/${run}/configuration-version/download`)).bytes).toEqual(EMPTY_ARCHIVE)
  await (await agent.take()).finish({ hasChanges: false })
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

test('owners take backing data away, bring it back and delete it for good', async () => {
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
