import { once } from 'node:events'
import { connect } from 'node:net'
import { AGENT_API } from '@groundstate/contract/agent'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { openLog, startPlan } from './testing/jobs.ts'

const LOG_LIMIT = 3_000_000
const app = await createTestApp({ GROUNDSTATE_LOG_LIMIT: String(LOG_LIMIT) })
const agent = await createFakeAgent(app)
const listening = app.listen()

describe('the log of a job', () => {
  test('is framed by STX and ETX, and readable at any offset while it grows', async () => {
    const { setting, run, job } = await startPlan(app, agent, { 'plan-only': true })
    const log = await openLog(app, setting, { run, phase: 'plan' })
    expect(String(await log.read(0, 100))).toBe('\u0002')
    await job.log('hello ')
    await job.log('world')

    expect(String(await log.read(0, 100))).toBe('\u0002hello world')
    expect(String(await log.read(3, 4))).toBe('llo ')
    expect(String(await log.read(12, 100))).toBe('')
    expect(String(await log.read(999, 100))).toBe('')

    await job.finish({ hasChanges: false })
    expect(String(await log.read(0, 100))).toBe('\u0002hello world\u0003')
    expect(String(await log.read(12, 100))).toBe('\u0003')
    expect(String(await log.read(13, 100))).toBe('')
    expect(String(await log.read(0, 12))).toBe('\u0002hello world')
  })

  test('stores repeated bytes once', async () => {
    const { setting, run, job } = await startPlan(app, agent, { 'plan-only': true })

    await job.log('abc')
    expect((await job.log('abcdef', 0)).json()).toEqual({ size: 6 })
    expect((await job.log('cd', 2)).json()).toEqual({ size: 6 })
    const gap = await job.log('x', 10)
    await Promise.all([job.log('ghi', 6), job.log('ghi', 6), job.log('ghi', 6)])

    expect(gap.status).toBe(416)
    const log = await openLog(app, setting, { run, phase: 'plan' })
    expect(String(await log.read(1, 100))).toBe('abcdefghi')
    await job.finish({ hasChanges: false })
  })

  test('is truncated at its limit with a notice, and later bytes are accepted and dropped', async () => {
    const { setting, run, job } = await startPlan(app, agent, { 'plan-only': true })
    const notice = `\nThe log is cut off here: it is longer than ${LOG_LIMIT} bytes. The run continues.\n`
    const chunk = 'x'.repeat(1_000_000)

    for (let at = 0; at < LOG_LIMIT + 1_500_000; at += chunk.length)
      expect((await job.log(chunk)).json()).toEqual({ size: at + chunk.length })
    const again = await job.log(chunk, LOG_LIMIT - 500_000)
    await job.finish({ hasChanges: false })

    expect(again.json()).toEqual({ size: LOG_LIMIT + 500_000 })
    const log = await openLog(app, setting, { run, phase: 'plan' })
    const { text } = await app.request({ url: log.path })
    expect(text.length).toBeLessThan(LOG_LIMIT + 100_000)
    expect(text.endsWith(`x${notice}\u0003`)).toBe(true)
  })

  test('reports its whole size to a request that repeats a concurrent one', async () => {
    const { job } = await startPlan(app, agent, { 'plan-only': true })
    const { phase_id } = await app.db
      .selectFrom('agent_jobs')
      .select('phase_id')
      .where('id', '=', job.id)
      .executeTakeFirstOrThrow()
    const waiting = () =>
      sql<{ count: number }>`select count(*) from pg_locks where not granted and locktype = 'transactionid'
        and pid in (select pid from pg_stat_activity where datname = current_database())`.execute(app.db)

    const again = await app.db.transaction().execute(async (tx) => {
      await tx
        .insertInto('log_chunks')
        .values({ phase_id, start_offset: 0, data: Buffer.from('abc') })
        .execute()
      const sent = job.log('abcdef', 0)
      await expect.poll(async () => (await waiting()).rows[0]?.count).toBe(1)
      return { sent }
    })

    expect((await again.sent).json()).toEqual({ size: 6 })
    await job.finish({ hasChanges: false })
  })

  test('reads the same after compaction', async () => {
    const { setting, run, job } = await startPlan(app, agent, { 'plan-only': true })
    const text = Array.from({ length: 300_000 }, (_, index) => `${index}\n`).join('')
    for (let at = 0; at < text.length; at += 700_000) await job.log(text.slice(at, at + 700_000))
    await job.finish({ hasChanges: false })
    const log = await openLog(app, setting, { run, phase: 'plan' })
    const before = (await app.request({ url: log.path })).text

    app.clock.advance(60_000)
    const { compactLogs } = await import('../plans/jobs.ts')
    await compactLogs(app.as(), app.now())

    expect(
      await app.db.selectFrom('log_chunks').select('phase_id').where('phase_id', '=', log.data.id).execute(),
    ).toEqual([])
    expect(before).toBe(`\u0002${text}\u0003`)
    expect((await app.request({ url: log.path })).text).toBe(before)
    expect(String(await log.read(1_048_570, 20))).toBe(before.slice(1_048_570, 1_048_590))
    expect(String(await log.read(before.length - 1, 20))).toBe('\u0003')
    expect(String(await log.read(before.length, 20))).toBe('')
  })

  test.each([{ 'content-length': '9000000' }, { 'transfer-encoding': 'chunked' }])(
    'of an unknown sender is rejected before it is read, %j',
    async (headers) => {
      const { port } = new URL(await listening)
      const socket = connect(Number(port), '127.0.0.1')
      const lines = Object.entries({ host: 'test', authorization: 'Bearer x', ...headers })
      socket.write(`PUT ${AGENT_API}/jobs/job-x/log?offset=0 HTTP/1.1\r\n`)
      socket.write(`${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`)

      const [response] = await once(socket, 'data')

      expect(String(response)).toMatch(/^HTTP\/1.1 401 /)
      socket.destroy()
    },
  )

  test('continues after its plan was released and requeued', async () => {
    const { setting, run, job } = await startPlan(app, agent, { 'plan-only': true })
    await job.log('the first one, ')
    await job.release()
    const again = await agent.take()

    expect((await again.log('the next')).json()).toEqual({ size: 8 })

    const log = await openLog(app, setting, { run, phase: 'plan' })
    expect(String(await log.read(0, 100))).toBe('\u0002the first one, the next')
    await again.finish({ hasChanges: false })
  })

  test('accepts only the token of its job', async () => {
    const { job } = await startPlan(app, agent, { 'plan-only': true })
    const url = `${AGENT_API}/jobs/${job.id}/log?offset=0`

    expect((await app.request({ method: 'PUT', url, token: agent.token, body: Buffer.from('x') })).status).toBe(401)
    expect((await app.request({ url: '/_objects/logs/plan-x.1.abc' })).status).toBe(404)
    await job.finish({ hasChanges: false })
  })
})

test('an error that the log contains already is not repeated', async () => {
  const { setting, run, job } = await startPlan(app, agent)
  const message = 'the wörking directory is not there'
  await job.log(`\nError: ${message}\n`)

  await job.finish({ status: 'errored', exitCode: null, message })

  const { read } = await openLog(app, setting, { run, phase: 'plan' })
  expect((await read(0, 10_000)).toString()).toBe(`\x02\nError: ${message}\n\x03`)
})
