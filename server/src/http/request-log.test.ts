import { closeSync, openSync } from 'node:fs'
import { mkdtemp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startCollector } from '@groundstate/agent/testing/collector'
import { startTracing } from '@groundstate/agent/tracing/tracing'
import { expect, inject, test, vi } from 'vitest'
import { endDeferralJob } from '../features/runs/runs/deferral.ts'
import { jobHandler } from '../handlers.ts'
import { createLog } from '../log.ts'
import { createTestApp } from '../testing/app.ts'
import { atEnd } from '../testing/cleanup.ts'
import { createFakeAgent } from '../testing/fake-agent.ts'
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
  await expect.poll(line).toMatchObject({ message: 'request', run: runId, status: 200 })
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

  const line = (await lines()).find(({ message }) => String(message).startsWith('not ready'))
  expect(line).toMatchObject({ request: 'probe-1' })
})

test('the lines of a background job have its id and run', async () => {
  const { app, lines } = await createLoggedApp()
  const runId = 'run-1234567890123456'
  await app.jobs.enqueue(app.db, endDeferralJob, { runId })
  const fail = jobHandler(endDeferralJob, async () => Promise.reject(new Error('broken')))

  await app.jobs.runDue(app.as(), [fail])

  expect((await lines()).find(({ message }) => message === 'job failed')).toMatchObject({
    kind: endDeferralJob.name,
    job: expect.stringMatching(/^[0-9a-f-]{36}$/),
    run: runId,
  })
})

const CLIENT = { trace: '0af7651916cd43dd8448eb211c80319c', span: 'b7ad6b7169203331' }
const parentOf = (flags: '00' | '01') => ({ traceparent: `00-${CLIENT.trace}-${CLIENT.span}-${flags}` })

/** Does work with traces; returns the spans that a collector got, with whether they belong to the trace of the client. */
async function spansOf(sampler: string, work: () => Promise<unknown>) {
  await using collector = await startCollector()
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  atEnd(() => void vi.unstubAllEnvs())
  const service = { name: 'groundstate', version: '1.0.0', warn: () => {} }
  {
    await using _ = await startTracing({ ...env, OTEL_TRACES_SAMPLER: sampler }, service)
    await work()
  }
  return collector.spans.map(({ name, traceId, parentSpanId }) => {
    const isOfClient = traceId === CLIENT.trace && parentSpanId === CLIENT.span
    return [name, isOfClient ? 'of the client' : traceId === CLIENT.trace || parentSpanId ? 'mixed' : 'new']
  })
}

test('the trace of a caller with valid credentials continues, with its decision to record it or not', async () => {
  const app = await createTestApp()
  const setting = await createRunSetting(app)
  const agent = await createFakeAgent(app)
  await createRun(app, setting)
  const job = await agent.take()
  const send = (flags: '00' | '01') => async () => {
    const headers = parentOf(flags)
    await app.request({ url: '/api/v2/account/details', token: setting.user.token, headers })
    await app.request({ url: `/api/agent/v1/jobs/${job.id}/configuration`, token: job.token, headers })
  }

  const recorded = await spansOf('parentbased_always_off', send('01'))
  const suppressed = await spansOf('parentbased_always_on', send('00'))

  expect(recorded).toEqual([
    ['GET /api/v2/account/details', 'of the client'],
    ['GET /api/agent/v1/jobs/:jobId/configuration', 'of the client'],
  ])
  expect(suppressed).toEqual([])
})

test('a stranger neither continues a trace, nor decides whether a request is recorded', async () => {
  const app = await createTestApp()
  const requests = [
    { url: '/.well-known/terraform.json' },
    { url: '/api/v2/account/details' },
    { url: '/api/v2/account/details', token: 'guessed' },
    { method: 'POST', url: '/api/agent/v1/jobs/job-1/finish', token: 'guessed', body: {} },
    { url: '/api/agent/v1/jobs/job-1/configuration', token: 'guessed' },
  ] as const
  const send = (flags: '00' | '01') => async () => {
    for (const request of requests) await app.request({ ...request, headers: parentOf(flags) })
  }

  const forced = await spansOf('parentbased_always_off', send('01'))
  const suppressed = await spansOf('parentbased_always_on', send('00'))

  expect(forced).toEqual([])
  expect(suppressed).toHaveLength(requests.length)
  expect(new Set(suppressed.map(([, kind]) => kind))).toEqual(new Set(['new']))
})

test('nor do so the tokens that nobody could check in an outage of the database', async () => {
  const app = await createTestApp()
  const url = '/api/v2/account/details'
  await app.db.destroy()
  const send = (flags: '00' | '01') => async () => {
    expect((await app.request({ url, token: 'guessed', headers: parentOf(flags) })).status).toBeGreaterThanOrEqual(500)
  }

  expect(await spansOf('parentbased_always_off', send('01'))).toEqual([])
  expect(await spansOf('parentbased_always_on', send('00'))).toEqual([[`GET ${url}`, 'new']])
})
