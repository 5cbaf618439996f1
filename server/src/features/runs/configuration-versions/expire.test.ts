import { beforeEach, expect, test } from 'vitest'
import type { Ctx } from '../../../app.ts'
import { type TestApp, createTestApp } from '../../../testing/app.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { type RunSetting, createRun, createRunSetting, postRun, uploadConfiguration } from '../../../testing/runs.ts'
import { expireArchives, sweepArchives } from './jobs.ts'

const DAY_MS = 86_400_000
const signal = new AbortController().signal
let app: TestApp
let setting: RunSetting

beforeEach(async () => {
  app = await createTestApp({ GROUNDSTATE_ARCHIVE_RETENTION_DAYS: '10' })
  setting = await createRunSetting(app)
})

async function read(path: string) {
  return app.request({ url: `/api/v2${path}`, token: setting.user.token })
}

async function statusOf(id: string) {
  return (await read(`/configuration-versions/${id}`)).json().data.attributes.status
}

async function setPolicy(owner: string, days: number | null) {
  const data =
    days === null
      ? { type: 'data-retention-policy-dont-deletes' }
      : { type: 'data-retention-policy-delete-olders', attributes: { 'delete-older-than-n-days': days } }
  const url = `/api/v2/${owner}/relationships/data-retention-policy`
  const response = await app.request({ method: 'POST', url, token: setting.user.token, body: { data } })
  expect(response.status).toBe(201)
}

/** Plans a version to the end, and then makes another run the current one of the workspace. */
async function useUp(configurationVersionId: string) {
  const agent = await createFakeAgent(app)
  await createRun(app, setting, { configurationVersionId })
  await (await agent.take()).finish({ hasChanges: false })
  await createRun(app, setting)
  await (await agent.take()).finish({ hasChanges: false })
}

test('an archive that was unused for the retention period is deleted, and not earlier', async () => {
  const old = setting.configurationVersionId
  const current = await uploadConfiguration(app, setting)
  app.clock.advance(9 * DAY_MS)
  await expireArchives(app.as(), signal)
  expect(await statusOf(old)).toBe('uploaded')

  app.clock.advance(2 * DAY_MS)
  await expireArchives(app.as(), signal)

  const { attributes } = (await read(`/configuration-versions/${old}`)).json().data
  expect(attributes).toMatchObject({ status: 'archived', size: null })
  expect(Date.parse(attributes['status-timestamps']['archived-at'])).toBeGreaterThan(Date.now() + 10 * DAY_MS)
  expect((await read(`/configuration-versions/${old}/download`)).status).toBe(404)
  expect((await postRun(app, setting, { configurationVersionId: old })).json().errors[0].detail).toContain(
    'is archived',
  )
  // The current one of the workspace is never archived.
  expect(await statusOf(current)).toBe('uploaded')
  expect((await read(`/configuration-versions/${current}/download`)).status).toBe(200)
})

test('an archive is kept while a run needs it, and for the retention period after its last run', async () => {
  const old = setting.configurationVersionId
  await uploadConfiguration(app, setting)
  const saved = await uploadConfiguration(app, setting, { speculative: false, provisional: true })
  const agent = await createFakeAgent(app)
  await createRun(app, setting, { configurationVersionId: saved, 'save-plan': true })
  await (await agent.take()).finish({ hasChanges: true })
  app.clock.advance(9 * DAY_MS)
  await useUp(old)
  app.clock.advance(9 * DAY_MS)
  await expireArchives(app.as(), signal)
  expect(await statusOf(old)).toBe('uploaded')

  app.clock.advance(2 * DAY_MS)
  await expireArchives(app.as(), signal)

  expect(await statusOf(old)).toBe('archived')
  expect(await statusOf(saved)).toBe('uploaded')
})

test('a policy of the organization or workspace overrides the setting of the server', async () => {
  const old = setting.configurationVersionId
  await uploadConfiguration(app, setting)
  await setPolicy(`organizations/${setting.organization}`, null)
  app.clock.advance(50 * DAY_MS)
  await expireArchives(app.as(), signal)
  expect(await statusOf(old)).toBe('uploaded')

  await setPolicy(`workspaces/${setting.workspaceId}`, 60)
  await expireArchives(app.as(), signal)
  expect(await statusOf(old)).toBe('uploaded')
  app.clock.advance(11 * DAY_MS)
  await expireArchives(app.as(), signal)

  expect(await statusOf(old)).toBe('archived')
})

test('an archive left by a crash between the row and the blob is swept', async () => {
  const old = setting.configurationVersionId
  const current = await uploadConfiguration(app, setting)
  app.clock.advance(11 * DAY_MS)
  const dying: Ctx = { ...app.as(), blobs: { ...app.blobs, delete: () => Promise.reject(new Error('killed')) } }

  await expect(expireArchives(dying, signal)).rejects.toThrow('killed')

  expect(await statusOf(old)).toBe('archived')
  expect(await sweepArchives(app.as(), signal)).toBe(1)
  expect((await read(`/configuration-versions/${current}/download`)).status).toBe(200)
})
