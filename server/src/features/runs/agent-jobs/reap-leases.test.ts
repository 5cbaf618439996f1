import { AGENT_API } from '@groundstate/contract/agent'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { claimsTopic } from '../../../claims/claims.ts'
import { createTestApp } from '../../../testing/app.ts'
import { allowIdle } from '../../../testing/database.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { countLockWaits } from '../../../testing/lock-waits.ts'
import {
  actOnRun,
  addWorkspace,
  createRun,
  createRunSetting,
  readRun,
  readWorkspace,
  runStatus,
} from '../../../testing/runs.ts'
import { createPool, createPoolToken } from '../../agents/agent-pools/testing/pools.ts'
import { reapLostLeases } from './reap-leases.ts'
import { openLog, startPlan } from './testing/jobs.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)

describe('a lost lease', () => {
  test('lets another agent repeat the plan and continue its log', async () => {
    const { setting, run, job } = await startPlan(app, agent)
    await job.log('first\n')

    app.clock.advance(31_000)
    expect(await reapLostLeases(app.as())).toBe(1)

    expect(await runStatus(app, setting, run)).toBe('plan_queued')
    expect((await job.heartbeat()).status).toBe(409)
    expect((await job.finish()).status).toBe(204)
    const again = await agent.take()
    await again.log('second\n')
    await again.finish({ hasChanges: false })
    const log = await openLog(app, setting, { run, phase: 'plan' })
    expect(String(await log.read(0, 1000))).toMatch(
      /^.first\n\nthe agent fake stopped sending heartbeats.*\nsecond\n.$/,
    )
    expect(await runStatus(app, setting, run)).toBe('planned_and_finished')
  })

  test('lets another agent repeat the plan when the lost one was deleted first', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(app, setting)
    const { token } = (await createPoolToken(app, setting, { poolId: pool.id })).attributes
    const attributes = { 'execution-mode': 'agent', 'agent-pool-id': pool.id }
    const ours = await addWorkspace(app, { ...setting, attributes })
    const run = await createRun(app, ours)
    const lost = await createFakeAgent(app, { token, name: 'lost' })
    await lost.take()
    app.clock.advance(61_000)
    const url = `/api/v2/agents/${lost.id}`
    expect((await app.request({ method: 'DELETE', url, token: setting.user.token })).status).toBe(204)

    await reapLostLeases(app.as())

    expect(await runStatus(app, setting, run)).toBe('plan_queued')
    const next = await createFakeAgent(app, { token, name: 'next' })
    await (await next.take()).finish({ hasChanges: false })
    expect(await runStatus(app, setting, run)).toBe('planned_and_finished')
  })

  test('ends a plan that lost three agents', async () => {
    const { setting, run } = await startPlan(app, agent)
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      app.clock.advance(31_000)
      await reapLostLeases(app.as())
      if (attempt < 3) await agent.take()
    }

    expect(await runStatus(app, setting, run)).toBe('errored')
    expect((await readWorkspace(app, setting)).attributes.locked).toBe(false)
  })

  test('ends an apply, reports what to check, and unlocks the workspace', async () => {
    const { setting, run, job } = await startPlan(app, agent, { 'auto-apply': true })
    await job.finish()
    await agent.take()
    const next = await createRun(app, setting)
    app.clock.advance(119_000)
    expect(await reapLostLeases(app.as())).toBe(0)

    app.clock.advance(2_000)
    await reapLostLeases(app.as())

    const { attributes } = await readRun(app, setting, run)
    expect(attributes.status).toBe('errored')
    expect(attributes['error-message']).toContain('compare the state with the real resources')
    expect(await runStatus(app, setting, next)).toBe('plan_queued')
    expect((await agent.take()).runId).toBe(next)
    await actOnRun(app, setting, { run: next, action: 'cancel' })
    app.clock.advance(31_000)
    await reapLostLeases(app.as())
    expect(await runStatus(app, setting, next)).toBe('canceled')
  })

  test('ends even if another one cannot be ended', async () => {
    const { setting, run, job } = await startPlan(app, agent)
    const stuck = await startPlan(app, agent)
    await app.db.updateTable('agent_jobs').set({ attempt: 10 }).where('id', '=', stuck.job.id).execute()
    app.clock.advance(31_000)
    await app.db
      .updateTable('agent_jobs')
      .set({
        leased_at: sql`leased_at - interval '1 minute'`,
        lease_expires_at: sql`lease_expires_at - interval '1 minute'`,
      })
      .where('id', '=', stuck.job.id)
      .execute()
    const ids = Object.assign(app.as(), {
      newId: (prefix: string) => {
        if (prefix === 're') throw new Error('this one cannot be processed')
        return app.newId(prefix)
      },
    })

    expect(await reapLostLeases(ids)).toBe(2)

    expect(await runStatus(app, setting, run)).toBe('plan_queued')
    expect(await runStatus(app, stuck.setting, stuck.run)).toBe('planning')
    await reapLostLeases(app.as())
    expect(await runStatus(app, stuck.setting, stuck.run)).toBe('errored')
    expect((await job.heartbeat()).status).toBe(409)
    await actOnRun(app, setting, { run, action: 'cancel' })
  })

  test('does not happen to an agent that sends heartbeats', async () => {
    const { setting, run, job } = await startPlan(app, agent)

    for (let beat = 0; beat < 4; beat += 1) {
      app.clock.advance(20_000)
      expect((await job.heartbeat()).json()).toEqual({ command: 'continue' })
      expect(await reapLostLeases(app.as())).toBe(0)
    }

    expect(await runStatus(app, setting, run)).toBe('planning')
    await job.finish({ hasChanges: false })
  })
})

describe('a job that agents return', () => {
  test.each(['plan', 'apply'] as const)('ends the run after ten attempts, and says why: %s', async (phase) => {
    const setting = await createRunSetting(app)
    const run = await createRun(app, setting, { 'auto-apply': true })
    if (phase === 'apply') await (await agent.take()).finish()

    for (let attempt = 1; attempt < 10; attempt += 1) await (await agent.take()).release()
    expect(await runStatus(app, setting, run)).toBe(`${phase}_queued`)
    await (await agent.take()).release()

    const { attributes } = await readRun(app, setting, run)
    const error = `the agent fake returned the ${phase}, the last of 10 attempts without a result`
    expect([attributes.status, attributes['error-message']]).toEqual(['errored', expect.stringContaining(error)])
    const log = await openLog(app, setting, { run, phase })
    expect(String(await log.read(0, 1000))).toContain(error)
    expect((await readWorkspace(app, setting)).attributes.locked).toBe(false)
  })

  test('has used no attempt if its agent disconnected before it received the job', async () => {
    const setting = await createRunSetting(app)
    const run = await createRun(app, setting, { 'plan-only': true })
    const url = `${await app.listen()}${AGENT_API}/agents/${agent.id}/claim`
    const headers = { authorization: `Bearer ${agent.token}`, 'content-type': 'application/json' }
    const controller = new AbortController()
    const connections = () =>
      new Promise<number>((resolve) => app.server.fastify.server.getConnections((_, found) => resolve(found)))

    await app.db.transaction().execute(async (tx) => {
      await allowIdle(tx)
      await tx.selectFrom('runs').select('id').where('id', '=', run).forUpdate().execute()
      const claim = fetch(url, { method: 'POST', headers, body: '{"waitMs":60000}', signal: controller.signal })
      await expect.poll(async () => countLockWaits(app.db)).toBe(1)
      controller.abort()
      await expect(claim).rejects.toThrow('aborted')
      await expect.poll(connections).toBe(0)
    })
    const other = await createFakeAgent(app, { name: 'other' })
    const job = await other.take()

    const found = app.db.selectFrom('agent_jobs').select('attempt').where('id', '=', job.id)
    expect(await found.executeTakeFirst()).toEqual({ attempt: 1 })
    await job.finish({ hasChanges: false })
  })

  test('ends the run after ten attempts, however each ended', async () => {
    const { setting, run, job } = await startPlan(app, agent)
    await job.release()
    for (let attempt = 2; attempt < 10; attempt += 1) {
      const next = await agent.take({ receives: attempt % 2 === 0 })
      if (attempt === 2) app.clock.advance(31_000)
      else if (attempt % 2 === 0) await next.release()
      else app.clock.advance(6000)
      await reapLostLeases(app.as())
    }
    expect(await runStatus(app, setting, run)).toBe('plan_queued')

    await agent.take()
    app.clock.advance(31_000)
    await reapLostLeases(app.as())

    expect(await runStatus(app, setting, run)).toBe('errored')
  })
})

describe('a job that its agent did not acknowledge', () => {
  const unheard = async () => agent.take({ receives: false })

  test.each(['plan', 'apply'] as const)('is queued again after seconds: %s', async (phase) => {
    const setting = await createRunSetting(app)
    const run = await createRun(app, setting, { 'auto-apply': true })
    if (phase === 'apply') await (await agent.take()).finish()
    const job = await unheard()
    app.clock.advance(4000)
    expect(await reapLostLeases(app.as())).toBe(0)

    app.clock.advance(2000)
    expect(await reapLostLeases(app.as())).toBe(1)

    expect(await runStatus(app, setting, run)).toBe(`${phase}_queued`)
    expect((await job.heartbeat()).status).toBe(409)
    expect((await job.log('begun')).status).toBe(409)
    const again = await agent.take()
    expect([again.kind, again.runId]).toEqual([phase, run])
    await again.log('once')
    await again.finish({ hasChanges: false })
    const log = await openLog(app, setting, { run, phase })
    expect(String(await log.read(0, 1000))).toMatch(/^.once.$/)
    expect(await runStatus(app, setting, run)).toBe(phase === 'plan' ? 'planned_and_finished' : 'applied')
  })

  test('is not requeued if the acknowledgement arrives before the check', async () => {
    const setting = await createRunSetting(app)
    await createRun(app, setting)
    const job = await unheard()
    app.clock.advance(20_000)

    expect((await job.heartbeat()).status).toBe(200)

    app.clock.advance(29_000)
    expect(await reapLostLeases(app.as())).toBe(0)
    expect((await job.finish({ hasChanges: false })).status).toBe(204)
  })

  test('makes its agent claim again, on every server', async () => {
    const setting = await createRunSetting(app)
    const run = await createRun(app, setting)
    await unheard()
    using waitingFor = app.signals.subscribe(claimsTopic(agent.id))
    app.clock.advance(6000)

    await reapLostLeases(app.as())

    expect(await waitingFor.next({ timeoutMs: 5000 })).toBe(true)
    await actOnRun(app, setting, { run, action: 'cancel' })
    let hasEnded = false
    const waiting = agent.claim({ waitMs: 30_000 }).finally(() => (hasEnded = true))
    await expect
      .poll(async () => {
        app.signals.publish(app.db, claimsTopic(agent.id))
        return hasEnded
      })
      .toBe(true)
    expect(await waiting).toBeUndefined()
  })

  test('is not shown as waiting for a heartbeat', async () => {
    const setting = await createRunSetting(app)
    const run = await createRun(app, setting)
    const job = await unheard()

    expect((await readRun(app, setting, run)).attributes['waiting-reason']).toBeNull()

    await job.heartbeat()
    await job.finish({ hasChanges: false })
  })

  test('keeps its whole lease if the agent does not send acknowledgements', async () => {
    const setting = await createRunSetting(app)
    const run = await createRun(app, setting, { 'auto-apply': true })
    await (await agent.take()).finish()
    const job = await agent.take({ sendsReceipt: false, receives: false })
    await job.log('creating')

    app.clock.advance(119_000)

    expect(await reapLostLeases(app.as())).toBe(0)
    await job.finish()
    expect(await runStatus(app, setting, run)).toBe('applied')
  })

  test('is canceled if that was requested', async () => {
    const setting = await createRunSetting(app)
    const run = await createRun(app, setting)
    const job = await unheard()
    await actOnRun(app, setting, { run, action: 'cancel' })
    app.clock.advance(6000)

    await reapLostLeases(app.as())

    expect(await runStatus(app, setting, run)).toBe('canceled')
    expect((await job.heartbeat()).status).toBe(409)
  })

  test('ends the run after ten attempts, and reports what to check', async () => {
    const setting = await createRunSetting(app)
    const run = await createRun(app, setting)
    for (let attempt = 1; attempt <= 10; attempt += 1) {
      await unheard()
      app.clock.advance(6000)
      await reapLostLeases(app.as())
    }

    const { attributes } = await readRun(app, setting, run)
    expect(attributes.status).toBe('errored')
    expect(attributes['error-message']).toContain('the agent fake did not acknowledge the plan')
    expect((await readWorkspace(app, setting)).attributes.locked).toBe(false)
  })
})

test('an apply whose agent polls every ten seconds is never shown as waiting for a heartbeat', async () => {
  const { setting, run, job: plan } = await startPlan(app, agent, { 'auto-apply': true })
  await plan.finish({ hasChanges: true })
  const job = await agent.take()
  const reasons = new Set<string | null>()

  for (let poll = 0; poll < 6; poll += 1) {
    app.clock.advance(9_900)
    reasons.add((await readRun(app, setting, run)).attributes['waiting-reason'])
    app.clock.advance(100)
    await job.heartbeat({ waitMs: 1 })
  }

  expect([...reasons]).toEqual([null])
  await job.finish({ hasChanges: false })
})

test.each([
  ['plan', 14_000],
  ['apply', 26_000],
] as const)('the reason to wait names an agent that is silent during the %s', async (phase, silentMs) => {
  const { setting, run, job: plan } = await startPlan(app, agent, { 'auto-apply': true })
  if (phase === 'apply') await plan.finish({ hasChanges: true })
  const job = phase === 'plan' ? plan : await agent.take()
  const reason = async () => (await readRun(app, setting, run)).attributes['waiting-reason']
  const { lease_expires_at: until } = await app.db
    .selectFrom('agent_jobs')
    .select('lease_expires_at')
    .where('id', '=', job.id)
    .executeTakeFirstOrThrow()
  app.clock.advance(silentMs)
  expect(await reason()).toBeNull()

  app.clock.advance(2000)

  const waitingFor = `waiting for a heartbeat of the agent fake until ${until?.toISOString().slice(11, 19)} UTC`
  expect(await reason()).toBe(waitingFor)
  expect((await readWorkspace(app, setting)).attributes['waiting-reason']).toBe(`${run} waits: ${waitingFor}`)
  await job.heartbeat()
  expect(await reason()).toBeNull()
  await job.finish({ hasChanges: false })
})
