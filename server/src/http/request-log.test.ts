import { closeSync, openSync } from 'node:fs'
import { mkdtemp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { endDeferralJob } from '../features/runs/runs/deferral.ts'
import { jobHandler } from '../handlers.ts'
import { createLog } from '../log.ts'
import { createTestApp } from '../testing/app.ts'
import { atEnd } from '../testing/cleanup.ts'
import { createRun, createRunSetting } from '../testing/runs.ts'

async function createLoggedApp() {
  const path = join(await mkdtemp(join(inject('directory'), 'log-')), 'log')
  const file = openSync(path, 'w')
  const app = await createTestApp({}, { log: createLog(file, { level: 'debug', readable: false }) })
  atEnd(async () => closeSync(file))
  const lines = async () =>
    (await readFile(path, 'utf8'))
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  return { app, lines }
}

test('the lines of a request have its id, which a client may choose, and the run of its path', async () => {
  const { app, lines } = await createLoggedApp()
  const setting = await createRunSetting(app)
  const runId = await createRun(app, setting)

  const response = await app.request({
    url: `/api/v2/runs/${runId}`,
    token: setting.user.token,
    headers: { 'x-request-id': 'build-42/deploy' },
  })

  expect(response.headers['x-request-id']).toBe('build-42/deploy')
  const line = async () => (await lines()).find(({ request }) => request === 'build-42/deploy')
  await expect.poll(line).toMatchObject({ msg: 'request', run: runId, status: 200 })
})

test('an unsuitable request id is replaced', async () => {
  const { app } = await createLoggedApp()
  const idFor = async (given: string) =>
    (await app.request({ url: '/healthz', headers: { 'x-request-id': given } })).headers['x-request-id']

  for (const given of ['', 'two words', 'a"b', 'x'.repeat(129)]) expect(await idFor(given)).toMatch(/^[0-9a-f-]{36}$/)
})

test('a line written during a request has the id of the request', async () => {
  const { app, lines } = await createLoggedApp()
  await app.db.destroy()

  await app.request({ url: '/readyz', headers: { 'x-request-id': 'probe-1' } })

  const line = (await lines()).find(({ msg }) => String(msg).startsWith('not ready'))
  expect(line).toMatchObject({ request: 'probe-1' })
})

test('the lines of a background job have its id and run', async () => {
  const { app, lines } = await createLoggedApp()
  const runId = 'run-1234567890123456'
  await app.jobs.enqueue(app.db, endDeferralJob, { runId })
  const fail = jobHandler(endDeferralJob, async () => Promise.reject(new Error('broken')))

  await app.jobs.runDue(app.as(), [fail])

  expect((await lines()).find(({ msg }) => msg === 'job failed')).toMatchObject({
    kind: endDeferralJob.name,
    job: expect.stringMatching(/^[0-9a-f-]{36}$/),
    run: runId,
  })
})
