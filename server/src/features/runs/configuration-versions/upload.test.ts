import { gzipSync } from 'node:zlib'
import { Header } from 'tar'
import { describe, expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import {
  EMPTY_ARCHIVE,
  type RunSetting,
  actOnRun,
  createConfigurationVersion,
  createRunSetting,
  put,
  readWorkspace,
} from '../../../testing/runs.ts'
import { createTeamToken } from '../../../testing/teams.ts'
import { endAbandonedUploads } from './jobs.ts'
import { ARCHIVE_PREFIX } from './urls.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const app = await createTestApp()

async function read(setting: RunSetting, path: string) {
  return app.request({ url: `/api/v2${path}`, token: setting.user.token })
}

/** The number of archives stored for a version. */
async function archivesOf(versionId: string) {
  let count = 0
  for await (const { keys } of app.blobs.list(`${ARCHIVE_PREFIX}${versionId}/`)) count += keys.length
  return count
}

/** An archive with a link out of its directory. */
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

/** A user whose team has this access to the workspace of another user; `leave` takes them out of the team. */
async function colleague(setting: RunSetting, level: 'read' | 'plan' | 'write') {
  const user = await createUser(app)
  const { organization_id: organizationId } = await app.db
    .selectFrom('workspaces')
    .select('organization_id')
    .where('id', '=', setting.workspaceId)
    .executeTakeFirstOrThrow()
  const workspaces = { [setting.workspaceId]: level }
  const teamId = await createTeamWithAccess(app, { members: [user], organizationId, workspaces })
  return {
    user,
    workspaceId: setting.workspaceId,
    teamId,
    leave: async () => app.db.deleteFrom('team_members').where('team_id', '=', teamId).execute(),
  }
}

describe('the run of an upload', () => {
  /** The runs after a member of a team with this access has uploaded a version. */
  async function uploadAs(level: 'plan' | 'write', { byTeam = false } = {}) {
    const setting = await createRunSetting(app, { 'auto-apply': true })
    const { user, teamId, ...target } = await colleague(setting, level)
    const token = byTeam ? await createTeamToken(app, teamId) : user.token
    const version = await createConfigurationVersion(
      app,
      { ...target, user: { ...user, token } },
      { 'auto-queue-runs': true },
    )
    expect((await put(app, version.attributes['upload-url'], EMPTY_ARCHIVE)).status).toBe(200)
    const runs = (await read(setting, `/workspaces/${setting.workspaceId}/runs`)).json().data
    for (const run of runs) await actOnRun(app, setting, { run: run.id, action: 'cancel' })
    return runs.map(({ attributes, relationships }: any) => ({
      autoApply: attributes['auto-apply'],
      by: relationships['created-by'].data.id === user.id,
    }))
  }

  test('is auto-applied if the creator of the version may apply, and waits otherwise', async () => {
    expect(await uploadAs('write')).toEqual([{ autoApply: true, by: true }])
    expect(await uploadAs('plan')).toEqual([{ autoApply: false, by: true }])
  })

  test('belongs to the team if a team token created the version', async () => {
    expect(await uploadAs('write', { byTeam: true })).toEqual([{ autoApply: true, by: false }])
  })
})

describe('the upload URL', () => {
  test('is in the response to the creation, and in no other', async () => {
    const setting = await createRunSetting(app)
    const reader = await colleague(setting, 'read')
    const version = await createConfigurationVersion(app, setting)

    const paths = [`/configuration-versions/${version.id}`, `/workspaces/${setting.workspaceId}/configuration-versions`]
    const shown = await Promise.all(
      [setting.user, reader.user].flatMap(({ token }) =>
        paths.map(async (path) => (await app.request({ url: `/api/v2${path}`, token })).json()),
      ),
    )

    expect(version.attributes['upload-url']).toContain('/_objects/configurations/')
    const urls = shown.flatMap(({ data }) => data).map(({ attributes }: any) => attributes['upload-url'])
    expect(urls).toEqual(Array.from({ length: 6 }, () => null))
  })

  test('expires 25 hours after the creation, whenever it was signed', async () => {
    const setting = await createRunSetting(app)
    const version = await createConfigurationVersion(app, setting)
    const url = version.attributes['upload-url']
    app.clock.advance(25 * HOUR_MS - 60_000)
    const grant = { purpose: 'configuration-upload', id: version.id, expiresAt: new Date(app.now().getTime() + DAY_MS) }
    const signedAnew = `${app.baseUrl}/_objects/configurations/${app.secrets.signPath(grant)}`

    app.clock.advance(120_000)
    const responses = await Promise.all([url, signedAnew].map((url) => put(app, url, EMPTY_ARCHIVE)))

    for (const { status, text } of responses) {
      expect([status, text]).toEqual([403, expect.stringContaining('has expired: create a new configuration version')])
    }
    expect((await put(app, `${url}x`, EMPTY_ARCHIVE)).status).toBe(404)
  })

  test('is invalid once its receiver may no longer plan', async () => {
    const setting = await createRunSetting(app)
    const [left, suspended] = [await colleague(setting, 'write'), await colleague(setting, 'write')]
    const versions = [await createConfigurationVersion(app, left), await createConfigurationVersion(app, suspended)]
    await left.leave()
    await app.db.updateTable('users').set({ suspended_at: app.now() }).where('id', '=', suspended.user.id).execute()

    const responses = await Promise.all(
      versions.map(({ attributes }) => put(app, attributes['upload-url'], EMPTY_ARCHIVE)),
    )

    expect(responses.map(({ status }) => status)).toEqual([404, 403])
    for (const { id } of versions) {
      const { attributes } = (await read(setting, `/configuration-versions/${id}`)).json().data
      expect(attributes.status).toBe('pending')
    }
  })

  test('is also invalid if that happens during the upload, of which nothing is kept', async () => {
    const setting = await createRunSetting(app)
    const uploader = await colleague(setting, 'write')
    const version = await createConfigurationVersion(app, uploader, { 'auto-queue-runs': true })
    const base = await app.listen()
    const { pathname } = new URL(version.attributes['upload-url'])
    const body = async function* () {
      yield EMPTY_ARCHIVE.subarray(0, 5)
      await uploader.leave()
      yield EMPTY_ARCHIVE.subarray(5)
    }

    const response = await fetch(`${base}${pathname}`, { method: 'PUT', body: body(), duplex: 'half' })

    expect(response.status).toBe(404)
    expect(await archivesOf(version.id)).toBe(0)
    expect((await read(setting, `/workspaces/${setting.workspaceId}/runs`)).json().data).toEqual([])
  })

  test('that was never used makes the version errored', async () => {
    const setting = await createRunSetting(app)
    const old = await createConfigurationVersion(app, setting)
    app.clock.advance(27 * HOUR_MS)
    const young = await createConfigurationVersion(app, setting)

    await endAbandonedUploads(app.as())

    const shown = async (id: string) => (await read(setting, `/configuration-versions/${id}`)).json().data.attributes
    expect(await shown(old.id)).toMatchObject({
      status: 'errored',
      error: 'upload_expired',
      'error-message': 'the archive was not uploaded within 25 hours: create a new configuration version',
      'status-timestamps': { 'errored-at': expect.any(String) },
    })
    expect((await shown(young.id)).status).toBe('pending')
  })
})

describe('an upload', () => {
  test('makes the version uploaded and current before the response', async () => {
    const setting = await createRunSetting(app)
    const version = await createConfigurationVersion(app, setting)
    expect(version.attributes).toMatchObject({
      status: 'pending',
      source: 'tfe-api',
      speculative: false,
      provisional: false,
    })

    const response = await put(app, version.attributes['upload-url'], EMPTY_ARCHIVE)

    expect(response.status).toBe(200)
    const { attributes } = (await read(setting, `/configuration-versions/${version.id}`)).json().data
    expect(attributes).toMatchObject({ status: 'uploaded', 'upload-url': null, size: EMPTY_ARCHIVE.length })
    const workspace = await readWorkspace(app, setting)
    expect(workspace.relationships['current-configuration-version'].data.id).toBe(version.id)
    const download = await read(setting, `/configuration-versions/${version.id}/download`)
    expect(download.bytes).toEqual(EMPTY_ARCHIVE)
  })

  test('starts a run if the version has auto-queue-runs', async () => {
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

  test('is accepted once', async () => {
    const setting = await createRunSetting(app)
    const version = await createConfigurationVersion(app, setting)
    const url = version.attributes['upload-url']
    const archives = [0, 1, 2].map((level) => gzipSync(Buffer.alloc(1024 + 512 * level)))

    const responses = await Promise.all(archives.map((archive) => put(app, url, archive)))

    expect(responses.map((response) => response.status).toSorted((a, b) => a - b)).toEqual([200, 422, 422])
    expect((await put(app, url, gzipSync(Buffer.alloc(4096)))).text).toContain('can be uploaded once')
    expect(await archivesOf(version.id)).toBe(1)
  })

  test('may be repeated with the same archive, and starts one run', async () => {
    const setting = await createRunSetting(app)
    const version = await createConfigurationVersion(app, setting, { 'auto-queue-runs': true })
    const send = async () => (await put(app, version.attributes['upload-url'], EMPTY_ARCHIVE)).status

    const statuses = [...(await Promise.all([send(), send(), send()])), await send()]

    expect(statuses).toEqual([200, 200, 200, 200])
    expect(await archivesOf(version.id)).toBe(1)
    const runs = (await read(setting, `/workspaces/${setting.workspaceId}/runs`)).json().data
    expect(runs).toHaveLength(1)
    await actOnRun(app, setting, { run: runs[0].id, action: 'cancel' })
  })

  test.each([
    ['that is not an archive', Buffer.from('nope')],
    ['that escapes its directory', leavingArchive()],
    ['that is empty', Buffer.alloc(0)],
  ])('%s is rejected, and the version has the reason', async (_, archive) => {
    const setting = await createRunSetting(app)
    const version = await createConfigurationVersion(app, setting)

    const response = await put(app, version.attributes['upload-url'], archive)

    expect(response.status).toBe(422)
    const { attributes } = (await read(setting, `/configuration-versions/${version.id}`)).json().data
    expect(attributes.status).toBe('errored')
    expect(attributes['error-message']).not.toBeNull()
  })
})
