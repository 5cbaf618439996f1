import { AGENT_API } from '@groundstate/contract/agent'
import { once } from 'node:events'
import { connect } from 'node:net'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import {
  act,
  createRun,
  createRunSetting,
  EMPTY_ARCHIVE,
  readRun,
  readWorkspace,
  runStatus,
} from '../../../testing/runs.ts'
import { reapLostLeases } from './reap-leases.ts'

const LOG_LIMIT = 3_000_000
const app = await createTestApp({ GROUNDSTATE_LOG_LIMIT: String(LOG_LIMIT) })
const agent = await createFakeAgent(app)
const listening = app.listen()

/** A run in a workspace of its own, and the job of its plan. */
async function startPlan(attributes: Record<string, unknown> = {}) {
  const setting = await createRunSetting(app)
  const run = await createRun(app, setting, attributes)
  return { setting, run, job: await agent.take() }
}

async function readLog(setting: { user: { token: string } }, { run, phase }: { run: string; phase: 'plan' | 'apply' }) {
  const { data } = (await app.request({ url: `/api/v2/runs/${run}/${phase}`, token: setting.user.token })).json()
  const path = new URL(data.attributes['log-read-url']).pathname
  return {
    data,
    path,
    read: async (offset: number, limit: number) =>
      (await app.request({ url: `${path}?limit=${limit}&offset=${offset}` })).bytes,
  }
}

describe('a claim', () => {
  test('waits for work and is woken', async () => {
    const setting = await createRunSetting(app)
    const waiting = agent.claim({ waitMs: 10_000 })

    const run = await createRun(app, setting)

    const job = await waiting
    expect(job?.runId).toBe(run)
    await job?.finish({ hasChanges: false })
  })

  test.each([
    ['needs the engine version that somebody has chosen', {}, true],
    ['needs no version that the command line wrote into a workspace it made', { 'Terraform-Version': '1.2.3' }, false],
  ])('%s', async (_, headers, required) => {
    const setting = await createRunSetting(app)
    const res = await app.request({
      method: 'PATCH',
      url: `/api/v2/workspaces/${setting.workspaceId}`,
      token: setting.user.token,
      headers,
      body: { data: { type: 'workspaces', attributes: { 'terraform-version': '1.2.3' } } },
    })
    expect(res.status).toBe(200)

    await createRun(app, setting)
    const job = await agent.take()

    expect(job.engine).toEqual({ product: 'terraform', version: '1.2.3', required })
    await job.finish({ hasChanges: false })
  })

  test('without work is empty', async () => {
    expect(await agent.claim({ waitMs: 10 })).toBeUndefined()
  })

  test('gets the configuration, the options and the variables', async () => {
    const setting = await createRunSetting(app)
    const variable = (attributes: Record<string, unknown>) =>
      app.request({
        method: 'POST',
        url: `/api/v2/workspaces/${setting.workspaceId}/vars`,
        token: setting.user.token,
        body: { data: { type: 'vars', attributes } },
      })
    await variable({ key: 'region', value: 'eu', category: 'terraform' })
    await variable({ key: 'size', value: '1', category: 'terraform', hcl: true })
    await createRun(app, setting, {
      'plan-only': true,
      'is-destroy': true,
      'target-addrs': ['a.b'],
      variables: [{ key: 'size', value: '2' }],
    })

    const job = await agent.take()

    expect(job.options).toMatchObject({ isDestroy: true, refresh: true, targetAddrs: ['a.b'] })
    expect(
      job.variables
        .map(({ key, value, hcl }) => [key, value, hcl])
        .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
    ).toEqual([
      ['region', 'eu', false],
      ['size', '2', true],
    ])
    expect((await job.configuration()).bytes).toEqual(EMPTY_ARCHIVE)
    await job.finish({ hasChanges: false })
  })

  test('takes the token of an agent, of that very agent', async () => {
    const { setting, job } = await startPlan({ 'plan-only': true })
    const url = `${AGENT_API}/agents/${agent.id}/claim`

    expect((await app.request({ method: 'POST', url, token: setting.user.token, body: { waitMs: 0 } })).status).toBe(
      401,
    )
    expect(
      (
        await app.request({
          method: 'POST',
          url: `${AGENT_API}/agents/agent-x/claim`,
          token: agent.token,
          body: { waitMs: 0 },
        })
      ).status,
    ).toBe(404)
    expect((await app.request({ url: '/api/v2/account/details', token: agent.token })).status).not.toBe(200)
    await job.finish({ hasChanges: false })
  })

  test('of an apply goes to the agent that made the plan first', async () => {
    const other = await createFakeAgent(app, { name: 'other' })
    const { job } = await startPlan({ 'auto-apply': true })
    await job.finish()

    expect(await other.claim()).toBeUndefined()
    app.clock.advance(1100)
    const apply = await other.claim()

    expect(apply?.runId).toBe(job.runId)
    expect([job.planJobId, apply?.planJobId]).toEqual([undefined, job.id])
    await apply?.finish()
  })
})

test('a job whose workspace is deleted is refused at once, so that its engine ends', async () => {
  const { setting, job } = await startPlan()
  const beat = job.heartbeat({ waitMs: 20_000 })
  await job.log('at work')

  const url = `/api/v2/workspaces/${setting.workspaceId}`
  const deleted = await app.request({ method: 'DELETE', url, token: setting.user.token })

  expect(deleted.status).toBe(204)
  expect((await beat).status).toBe(401)
  expect((await app.request({ url: '/api/v2/account/details', token: job.token })).status).toBe(401)
})

test('a heartbeat goes on waiting when what wakes it is nothing new', async () => {
  const { setting, job } = await startPlan()
  using announced = app.signals.subscribe(`job:${job.id}`)
  const beat = job.heartbeat({ waitMs: 20_000 })
  await job.log('at work')
  await app.signals.publish(app.db, `job:${job.id}`)
  await announced.next({ timeoutMs: 5000 })
  await job.log(', still')

  await act(app, setting, { run: job.runId, action: 'cancel' })

  expect((await beat).json()).toEqual({ command: 'cancel' })
  await job.finish({ status: 'canceled' })
})

test('a run whose variables can not be opened ends, and holds up nobody', async () => {
  const setting = await createRunSetting(app)
  const response = await app.request({
    method: 'POST',
    url: `/api/v2/workspaces/${setting.workspaceId}/vars`,
    token: setting.user.token,
    body: { data: { type: 'vars', attributes: { key: 'secret', value: 'x', category: 'env', sensitive: true } } },
  })
  const sealed = app.secrets.seal('x', 'another place')
  await app.db
    .updateTable('variables')
    .set({ sealed_value: sealed })
    .where('id', '=', response.json().data.id)
    .execute()
  const run = await createRun(app, setting)
  const next = await createRun(app, await createRunSetting(app))

  const job = await agent.take()

  expect(job.runId).toBe(next)
  const { attributes } = await readRun(app, setting, run)
  expect(attributes).toMatchObject({ status: 'errored', 'error-message': expect.stringContaining('Set it again') })
  const log = await readLog(setting, { run, phase: 'plan' })
  expect(String(await log.read(0, 1000))).toContain("a sensitive value can't be opened")
  expect((await readWorkspace(app, setting)).attributes.locked).toBe(false)
  await job.finish({ hasChanges: false })
})

test('a job of a server of plain http knows the page of its run, of which the command line prints another address', async () => {
  const { setting, run, job } = await startPlan({ 'plan-only': true })
  const { name } = (await readWorkspace(app, setting)).attributes

  expect(job.pageUrl).toBe(`${app.baseUrl}/app/${setting.organization}/${name}/runs/${run}`)
  await job.finish({ hasChanges: false })
})

describe('the log of a job', () => {
  test('is framed for its readers, and read at any offset while it grows', async () => {
    const { setting, run, job } = await startPlan({ 'plan-only': true })
    const log = await readLog(setting, { run, phase: 'plan' })
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

  test('takes what was sent before once', async () => {
    const { setting, run, job } = await startPlan({ 'plan-only': true })

    await job.log('abc')
    expect((await job.log('abcdef', 0)).json()).toEqual({ size: 6 })
    expect((await job.log('cd', 2)).json()).toEqual({ size: 6 })
    const gap = await job.log('x', 10)
    await Promise.all([job.log('ghi', 6), job.log('ghi', 6), job.log('ghi', 6)])

    expect(gap.status).toBe(416)
    const log = await readLog(setting, { run, phase: 'plan' })
    expect(String(await log.read(1, 100))).toBe('abcdefghi')
    await job.finish({ hasChanges: false })
  })

  test('is cut off at its limit with a line that says so, and what comes after is taken and dropped', async () => {
    const { setting, run, job } = await startPlan({ 'plan-only': true })
    const notice = `\nThe log is cut off here: it is longer than ${LOG_LIMIT} bytes. The run goes on.\n`
    const piece = 'x'.repeat(1_000_000)

    for (let at = 0; at < LOG_LIMIT + 1_500_000; at += piece.length)
      expect((await job.log(piece)).json()).toEqual({ size: at + piece.length })
    const again = await job.log(piece, LOG_LIMIT - 500_000)
    await job.finish({ hasChanges: false })

    expect(again.json()).toEqual({ size: LOG_LIMIT + 500_000 })
    const log = await readLog(setting, { run, phase: 'plan' })
    const { text } = await app.request({ url: log.path })
    expect(text.length).toBeLessThan(LOG_LIMIT + 100_000)
    expect(text.endsWith(`x${notice}\u0003`)).toBe(true)
  })

  test('tells its whole size to whoever sends again what is just being stored', async () => {
    const { job } = await startPlan({ 'plan-only': true })
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

  test('reads the same once it has moved to blobs', async () => {
    const { setting, run, job } = await startPlan({ 'plan-only': true })
    const text = Array.from({ length: 300_000 }, (_, index) => `${index}\n`).join('')
    for (let at = 0; at < text.length; at += 700_000) await job.log(text.slice(at, at + 700_000))
    await job.finish({ hasChanges: false })
    const log = await readLog(setting, { run, phase: 'plan' })
    const before = (await app.request({ url: log.path })).text

    app.clock.advance(60_000)
    const { compactLogs } = await import('../plans/logs.ts')
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
    'of an unknown sender is refused before it is read, %j',
    async (headers) => {
      const { port } = new URL(await listening)
      const socket = connect(Number(port), '127.0.0.1')
      const lines = Object.entries({ host: 'test', authorization: 'Bearer x', ...headers })
      socket.write(`PUT ${AGENT_API}/jobs/job-x/log?offset=0 HTTP/1.1\r\n`)
      socket.write(`${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`)

      const [answer] = await once(socket, 'data')

      expect(String(answer)).toMatch(/^HTTP\/1.1 401 /)
      socket.destroy()
    },
  )

  test('is nobody else’s', async () => {
    const { job } = await startPlan({ 'plan-only': true })
    const url = `${AGENT_API}/jobs/${job.id}/log?offset=0`

    expect((await app.request({ method: 'PUT', url, token: agent.token, body: Buffer.from('x') })).status).toBe(401)
    expect((await app.request({ url: '/_objects/logs/plan-x.1.abc' })).status).toBe(404)
    await job.finish({ hasChanges: false })
  })
})

describe('files of a job', () => {
  test('the apply finds what the plan left, and people find the plan as JSON', async () => {
    const { setting, run, job } = await startPlan({ 'auto-apply': true })
    const plan = (await readRun(app, setting, run)).relationships.plan.data.id
    const url = `/api/v2/plans/${plan}/json-output`
    expect((await app.request({ url, token: setting.user.token })).status).toBe(204)
    await job.put('plan-file', 'PLAN')
    await job.put('plan-json', '{"a":1}')
    await job.put('plan-json-redacted', '{"a":null}')
    expect((await job.put('plan-file', 'PLAN')).status).toBe(204)
    await job.finish()
    const apply = await agent.take()

    expect((await apply.get('plan-file')).text).toBe('PLAN')
    expect((await apply.get('lock-file')).status).toBe(404)
    expect((await app.request({ url, token: setting.user.token })).json()).toEqual({ a: 1 })
    const redacted = await app.request({ url: `${url}-redacted`, token: setting.user.token })
    expect(redacted.json()).toEqual({ a: null })
    await apply.put('errored-state', '{"version":4}')
    await apply.finish({ status: 'errored' })
    const applyId = (await readRun(app, setting, run)).relationships.apply.data.id
    app.clock.advance(3000)
    await app.runJobs()
    const state = await app.request({ url: `/api/v2/applies/${applyId}/errored-state`, token: setting.user.token })
    expect(state.json()).toEqual({ version: 4 })
  })
})

describe('an end', () => {
  test('that is told twice counts once', async () => {
    const { setting, run, job } = await startPlan()

    expect((await job.finish()).status).toBe(204)
    expect((await job.finish({ status: 'errored' })).status).toBe(204)

    expect(await runStatus(app, setting, run)).toBe('planned')
    expect((await job.heartbeat()).status).toBe(409)
    await act(app, setting, { run, action: 'discard' })
  })

  test('a job that is handed back is queued again', async () => {
    const { setting, run, job } = await startPlan()

    expect((await job.release()).status).toBe(204)

    expect(await runStatus(app, setting, run)).toBe('plan_queued')
    const again = await agent.take()
    expect(again.runId).toBe(run)
    expect(again.id).not.toBe(job.id)
    expect((await job.log('late')).status).toBe(409)
    await again.finish({ hasChanges: false })
  })
})

describe('a lost lease', () => {
  test('lets another agent make the plan, and its log goes on', async () => {
    const { setting, run, job } = await startPlan()
    await job.log('first\n')

    app.clock.advance(31_000)
    expect(await reapLostLeases(app.as())).toBe(1)

    expect(await runStatus(app, setting, run)).toBe('plan_queued')
    expect((await job.heartbeat()).status).toBe(409)
    expect((await job.finish()).status).toBe(204)
    const again = await agent.take()
    await again.log('second\n')
    await again.finish({ hasChanges: false })
    const log = await readLog(setting, { run, phase: 'plan' })
    expect(String(await log.read(0, 1000))).toMatch(/^.first\n\nthe agent fake gave no sign of life.*\nsecond\n.$/)
    expect(await runStatus(app, setting, run)).toBe('planned_and_finished')
  })

  test('ends a plan that lost three agents', async () => {
    const { setting, run } = await startPlan()
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      app.clock.advance(31_000)
      await reapLostLeases(app.as())
      if (attempt < 3) await agent.take()
    }

    expect(await runStatus(app, setting, run)).toBe('errored')
    expect((await readWorkspace(app, setting)).attributes.locked).toBe(false)
  })

  test('ends an apply, says what to check, and lets the workspace go', async () => {
    const { setting, run, job } = await startPlan({ 'auto-apply': true })
    await job.finish()
    await agent.take()
    const next = await createRun(app, setting)

    app.clock.advance(31_000)
    await reapLostLeases(app.as())

    const { attributes } = await readRun(app, setting, run)
    expect(attributes.status).toBe('errored')
    expect(attributes['error-message']).toContain('compare the state with what really exists')
    expect(await runStatus(app, setting, next)).toBe('plan_queued')
    expect((await agent.take()).runId).toBe(next)
    await act(app, setting, { run: next, action: 'cancel' })
    app.clock.advance(31_000)
    await reapLostLeases(app.as())
    expect(await runStatus(app, setting, next)).toBe('canceled')
  })

  test('is dealt with although another one can not be', async () => {
    const { setting, run, job } = await startPlan()
    const stuck = await startPlan()
    await app.db.updateTable('agent_jobs').set({ attempt: 9 }).where('id', '=', stuck.job.id).execute()
    app.clock.advance(31_000)
    await app.db
      .updateTable('agent_jobs')
      .set({ lease_expires_at: sql`lease_expires_at - interval '1 minute'` })
      .where('id', '=', stuck.job.id)
      .execute()
    const ids = Object.assign(app.as(), {
      newId: (prefix: string) => {
        if (prefix === 're') throw new Error('this one can not be dealt with')
        return app.newId(prefix)
      },
    })

    expect(await reapLostLeases(ids)).toBe(2)

    expect(await runStatus(app, setting, run)).toBe('plan_queued')
    expect(await runStatus(app, stuck.setting, stuck.run)).toBe('planning')
    await reapLostLeases(app.as())
    expect(await runStatus(app, stuck.setting, stuck.run)).toBe('errored')
    expect((await job.heartbeat()).status).toBe(409)
    await act(app, setting, { run, action: 'cancel' })
  })

  test('does not befall an agent that beats', async () => {
    const { setting, run, job } = await startPlan()

    for (let beat = 0; beat < 4; beat += 1) {
      app.clock.advance(20_000)
      expect((await job.heartbeat()).json()).toEqual({ command: 'continue' })
      expect(await reapLostLeases(app.as())).toBe(0)
    }

    expect(await runStatus(app, setting, run)).toBe('planning')
    await job.finish({ hasChanges: false })
  })
})

test.each(['plan', 'apply'] as const)('an agent that has fallen silent over the %s is named', async (phase) => {
  const { setting, run, job: plan } = await startPlan({ 'auto-apply': true })
  if (phase === 'apply') await plan.finish({ hasChanges: true })
  const job = phase === 'plan' ? plan : await agent.take()
  const reason = async () => (await readRun(app, setting, run)).attributes['waiting-reason']
  const until = app.now().getTime() + 30_000
  app.clock.advance(14_000)
  expect(await reason()).toBeNull()

  app.clock.advance(2000)

  const told = `waiting for a sign of life of the agent fake until ${new Date(until).toISOString().slice(11, 19)} UTC`
  expect(await reason()).toBe(told)
  expect((await readWorkspace(app, setting)).attributes['waiting-reason']).toBe(`${run} waits: ${told}`)
  await job.heartbeat()
  expect(await reason()).toBeNull()
  await job.finish({ hasChanges: false })
})

test('an error that the agent has put into the log already is not repeated there', async () => {
  const { setting, run, job } = await startPlan()
  const message = 'the wörking directory is not there'
  await job.log(`\nError: ${message}\n`)

  await job.finish({ status: 'errored', exitCode: null, message })

  const { read } = await readLog(setting, { run, phase: 'plan' })
  expect((await read(0, 10_000)).toString()).toBe(`\x02\nError: ${message}\n\x03`)
})

test('why a run waits for an agent is said', async () => {
  const setting = await createRunSetting(app)
  app.clock.advance(120_000)

  const run = await createRun(app, setting)

  expect((await readRun(app, setting, run)).attributes['waiting-reason']).toContain('no agent of this server is online')
  await (await agent.take()).finish({ hasChanges: false })
})
