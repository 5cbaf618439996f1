import { sql } from 'kysely'
import { afterEach, describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { allowIdle } from '../../../testing/database.ts'
import { createFakeAgent, type FakeJob } from '../../../testing/fake-agent.ts'
import { countLockWaits } from '../../../testing/lock-waits.ts'
import { actOnRun, createRun, createRunSetting, readRun, type RunSetting, runStatus } from '../../../testing/runs.ts'
import { reapLostLeases } from './reap-leases.ts'
import { openLog, startPlan } from './testing/jobs.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)

/** The URLs of the resources that contain a job, for their deletion. */
const PLACES = {
  workspace: ({ workspaceId }: RunSetting) => `/api/v2/workspaces/${workspaceId}`,
  organization: ({ organization }: RunSetting) => `/api/v2/organizations/${organization}`,
}

test.each(Object.entries(PLACES))(
  'a job of a deleted %s is rejected immediately, so that its engine ends',
  async (_, urlOf) => {
    const { setting, job } = await startPlan(app, agent)
    const beat = job.heartbeat({ waitMs: 20_000 })
    await job.log('at work')

    const url = urlOf(setting)
    const deleted = await app.request({ method: 'DELETE', url, token: setting.user.token })

    expect(deleted.status).toBe(204)
    expect((await beat).status).toBe(401)
    expect((await app.request({ url: '/api/v2/account/details', token: job.engineToken })).status).toBe(401)
  },
)

test.each(['/live/db', './live/db/'])('the working directory %s is a directory of the configuration', async (path) => {
  const setting = await createRunSetting(app, { 'working-directory': path })
  await createRun(app, setting)

  const job = await agent.take()

  expect(job.workingDirectory).toBe('live/db')
  await job.finish({ status: 'canceled' })
})

test('a heartbeat continues waiting after a signal without a new command', async () => {
  const { setting, job } = await startPlan(app, agent)
  using announced = app.signals.subscribe(`job:${job.id}`)
  const beat = job.heartbeat({ waitMs: 20_000 })
  await job.log('at work')
  app.signals.publish(app.db, `job:${job.id}`)
  await announced.next({ timeoutMs: 5000 })
  await job.log(', still')

  await actOnRun(app, setting, { run: job.runId, action: 'cancel' })

  expect((await beat).json()).toEqual({ command: 'cancel' })
  await job.finish({ status: 'canceled' })
})

test('a forced cancel at the moment of a heartbeat is reported', async () => {
  const { setting, run, job: plan } = await startPlan(app, agent, { 'auto-apply': true })
  await plan.finish()
  const apply = await agent.take()
  await actOnRun(app, setting, { run, action: 'cancel' })
  await apply.heartbeat()
  app.clock.advance(40_000)
  const held = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  // Holds the row as the transaction of the cancel does before its commit.
  const cancel = app.db.transaction().execute(async (tx) => {
    await allowIdle(tx)
    const change = { status: 'ended', command: 'force-cancel', lease_expires_at: null, ended_at: app.now() } as const
    await tx.updateTable('agent_jobs').set(change).where('id', '=', apply.id).execute()
    locked.resolve()
    await held.promise
  })
  await locked.promise
  const beat = apply.heartbeat({ waitMs: 2000, seen: 'cancel' })
  await expect.poll(async () => countLockWaits(app.db)).toBeGreaterThan(0)

  held.resolve()
  await cancel

  expect((await beat).json()).toEqual({ command: 'force-cancel' })
})

describe('files of a job', () => {
  test('are available to the apply, and the plan JSON to users', async () => {
    const { setting, run, job } = await startPlan(app, agent, { 'auto-apply': true })
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
    app.clock.advance(5500)
    await app.runJobs()
    const { links } = (await app.request({ url: `/api/v2/applies/${applyId}`, token: setting.user.token })).json().data
    expect(links['errored-state']).toBe(`/api/v2/applies/${applyId}/errored-state`)
    const state = await app.request({ url: `/api/v2/applies/${applyId}/errored-state`, token: setting.user.token })
    expect(state.json()).toEqual({ version: 4 })
  })
})

test('numbers of a plan keep all digits from the agent to the user', async () => {
  const { setting, run, job } = await startPlan(app, agent)
  const plan = (await readRun(app, setting, run)).relationships.plan.data.id
  const document =
    '{"resource_changes":[{"change":{"after":{"id":12345678901234567890,"rate":0.1000000000000000055}}}]}'
  await job.put('plan-json', document)
  await job.put('plan-json-redacted', document)
  await job.finish()

  const [whole, redacted] = await Promise.all(
    ['json-output', 'json-output-redacted'].map((name) =>
      app.request({ url: `/api/v2/plans/${plan}/${name}`, token: setting.user.token }),
    ),
  )

  expect(whole?.text).toBe(document)
  expect(redacted?.text).toBe(document)
  await actOnRun(app, setting, { run, action: 'discard' })
})

describe('the end of a job', () => {
  test('counts once when it is reported twice', async () => {
    const { setting, run, job } = await startPlan(app, agent)

    expect((await job.finish()).status).toBe(204)
    expect((await job.finish({ status: 'errored' })).status).toBe(204)

    expect(await runStatus(app, setting, run)).toBe('planned')
    expect((await job.heartbeat()).status).toBe(409)
    await actOnRun(app, setting, { run, action: 'discard' })
  })

  test('requeues a released job', async () => {
    const { setting, run, job } = await startPlan(app, agent)

    expect((await job.release()).status).toBe(204)

    expect(await runStatus(app, setting, run)).toBe('plan_queued')
    const again = await agent.take()
    expect(again.runId).toBe(run)
    expect(again.id).not.toBe(job.id)
    expect((await job.log('late')).status).toBe(409)
    await again.finish({ hasChanges: false })
  })
})

describe('output that arrives as its job ends', () => {
  /** Delays the end of a job, or the deletion of its workspace, just before the job's row is changed. */
  async function holdEnd(change: 'update' | 'delete' = 'update') {
    await sql`create or replace function wait_for_test() returns trigger language plpgsql as
      'begin perform pg_advisory_xact_lock(1); return null; end'`.execute(app.db)
    await sql`create trigger held before ${sql.raw(change)} on agent_jobs execute function wait_for_test()`.execute(
      app.db,
    )
    const held = Promise.withResolvers<void>()
    const locked = Promise.withResolvers<void>()
    const holding = app.db.transaction().execute(async (tx) => {
      await allowIdle(tx)
      await sql`select pg_advisory_xact_lock(1)`.execute(tx)
      locked.resolve()
      await held.promise
    })
    await locked.promise
    return async () => {
      held.resolve()
      await holding
    }
  }

  afterEach(async () => {
    await sql`drop trigger held on agent_jobs`.execute(app.db)
  })

  const waiters = async () => countLockWaits(app.db)

  /** Sends output during that delay; returns the status of both. */
  async function withOutput(job: FakeJob, end: Promise<{ status: number }>, release: () => Promise<void>) {
    await expect.poll(waiters).toBe(1)
    const output = job.log('more\n', 8)
    await expect.poll(waiters).toBe(2)
    await release()
    return [(await end).status, (await output).status]
  }

  test('waits for that end, and neither fails', async () => {
    const { job } = await startPlan(app, agent)
    await job.log('at work\n')
    const release = await holdEnd()
    const end = job.finish({ status: 'errored', message: 'the engine has died' })

    expect(await withOutput(job, end, release)).toEqual([204, 409])
  })

  test.each(Object.entries(PLACES))('waits for the deletion of its %s, and neither fails', async (_, urlOf) => {
    const { setting, job } = await startPlan(app, agent)
    await job.log('at work\n')
    const release = await holdEnd('delete')
    const url = urlOf(setting)
    const deletion = app.request({ method: 'DELETE', url, token: setting.user.token })

    expect(await withOutput(job, deletion, release)).toEqual([204, 401])
  })

  test('waits for that end of a lost apply too', async () => {
    const { job: plan } = await startPlan(app, agent, { 'auto-apply': true })
    await plan.finish()
    const job = await agent.take()
    await job.log('at work\n')
    app.clock.advance(121_000)
    await reapLostLeases(app.as())
    const release = await holdEnd()
    const end = job.finish({ status: 'errored', message: 'the engine has died' })

    expect(await withOutput(job, end, release)).toEqual([204, 409])
  })
})

describe('the message of an agent about a phase', () => {
  test.each([
    ['errored', 'The agent was killed during the apply, and the engine was interrupted.', 'errored', 'errored'],
    ['finished', 'Its engine completed it, and stored its state.', 'reported', 'applied'],
  ] as const)('that has %s is in the log and in the history of its run', async (status, message, action, ended) => {
    const { setting, run, job } = await startPlan(app, agent, { 'auto-apply': false })
    await job.finish()
    await actOnRun(app, setting, { run, action: 'apply' })

    await (await agent.take()).finish({ status, message })

    expect(await runStatus(app, setting, run)).toBe(ended)
    const events = await app.request({ url: `/api/v2/runs/${run}/run-events`, token: setting.user.token })
    const last = events.json().data.at(-1).attributes
    expect([last.action, last.description]).toEqual([action, message])
    const { read } = await openLog(app, setting, { run, phase: 'apply' })
    expect(String(await read(0, 10_000))).toContain(message)
  })
})
