import { packEnvelope } from '@groundstate/contract/envelope'
import { sql } from 'kysely'
import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { allowIdle } from '../../../testing/database.ts'
import { createUser } from '../../../testing/factories.ts'
import { createFakeAgent, receivedJob } from '../../../testing/fake-agent.ts'
import { countLockWaits } from '../../../testing/lock-waits.ts'
import { readRun, runStatus } from '../../../testing/runs.ts'
import { reapLostLeases } from './reap-leases.ts'
import { startPlan } from './testing/jobs.ts'

const app = await createTestApp()
const url = await app.listen()
const agent = await createFakeAgent(app)
const admin = await createUser(app, { isSiteAdmin: true })

const start = async () => startPlan(app, agent, { 'auto-apply': true })

describe('an agent that claims the apply of its plan', () => {
  test('gets it with the response to the result, and must acknowledge it', async () => {
    const { setting, run, job } = await start()

    const apply = receivedJob(app, await job.result({}, { takesApply: true }))

    expect([apply.kind, apply.planJobId, apply.runId]).toEqual(['apply', job.id, run])
    expect(await agent.claim()).toBeUndefined()
    const { attributes } = await readRun(app, setting, run)
    expect(attributes.status).toBe('applying')
    expect(Object.keys(attributes['status-timestamps'])).toEqual(
      expect.arrayContaining(['planned-at', 'apply-queued-at', 'applying-at']),
    )
    expect((await apply.heartbeat()).status).toBe(200)
    expect((await apply.finish()).status).toBe(204)
    expect(await runStatus(app, setting, run)).toBe('applied')
  })

  test('gets it if the organization runs one job at a time: it replaces its plan', async () => {
    const { setting, job } = await start()
    await app.request({
      method: 'PATCH',
      url: `/api/v2/admin/organizations/${setting.organization}`,
      token: admin.token,
      body: { data: { type: 'organizations', attributes: { 'run-concurrency': 1 } } },
    })

    const response = await job.result({}, { takesApply: true })

    expect(response.status).toBe(200)
    await receivedJob(app, response).finish()
  })

  test('does not get it twice, and others get it once the acknowledgement is overdue', async () => {
    const { setting, run, job } = await start()
    const lost = receivedJob(app, await job.result({}, { takesApply: true }))

    const again = await job.result({}, { takesApply: true })
    app.clock.advance(5001)
    await reapLostLeases(app.as())
    const claimed = await agent.take()

    expect(again.status).toBe(204)
    expect([claimed.kind, claimed.runId]).toEqual(['apply', run])
    expect((await lost.heartbeat()).status).toBe(409)
    await claimed.finish()
    expect(await runStatus(app, setting, run)).toBe('applied')
  })

  test('loses it to others immediately if it disconnects before the response', async () => {
    const { run, job } = await start()
    const held = Promise.withResolvers<void>()
    const locked = Promise.withResolvers<void>()
    const holding = app.db.transaction().execute(async (tx) => {
      await allowIdle(tx)
      await sql`select from agent_jobs where id = ${job.id} for update`.execute(tx)
      locked.resolve()
      await held.promise
    })
    await locked.promise
    const leaving = new AbortController()
    const response = request(`${url}/api/agent/v1/jobs/${job.id}/result`, {
      method: 'POST',
      headers: { authorization: `Bearer ${job.token}`, 'content-type': 'application/octet-stream' },
      body: packEnvelope(
        { outcome: { status: 'finished', exitCode: 0, hasChanges: true }, files: [], takesApply: true },
        [],
      ),
      signal: leaving.signal,
    })
    await expect.poll(async () => countLockWaits(app.db)).toBe(1)

    leaving.abort()
    await expect(response).rejects.toThrow('aborted')
    held.resolve()
    await holding
    const claimed = await agent.take()

    expect([claimed.kind, claimed.runId]).toEqual(['apply', run])
    await claimed.finish()
  })

  test('is not blocked by its own concurrent claim', async () => {
    const { job } = await start()
    const waiting = agent.claim({ waitMs: 300 })

    const response = await job.result({}, { takesApply: true })

    expect(await waiting).toBeUndefined()
    await receivedJob(app, response).finish()
  })
})

describe('the apply of a plan is queued', () => {
  test('if its agent does not request it', async () => {
    const { run, job } = await start()
    const waiting = agent.claim({ waitMs: 5000 })

    expect((await job.result({})).status).toBe(204)

    expect((await waiting)?.runId).toBe(run)
    await (await waiting)?.finish()
  })

  test('if its agent accepts no applies', async () => {
    const planner = await createFakeAgent(app, { name: 'planner', accepts: ['plan'] })
    const { run, job } = await startPlan(app, planner, { 'auto-apply': true })
    const waiting = agent.claim({ waitMs: 5000 })

    expect((await job.result({}, { takesApply: true })).status).toBe(204)

    expect((await waiting)?.runId).toBe(run)
    await (await waiting)?.finish()
  })

  test('if its agent has exited', async () => {
    const leaving = await createFakeAgent(app, { name: 'leaving' })
    const { run, job } = await startPlan(app, leaving, { 'auto-apply': true })
    const goodbye = `/api/agent/v1/agents/${leaving.id}/deregister`
    await app.request({ method: 'POST', url: goodbye, token: leaving.token })

    expect((await job.result({}, { takesApply: true })).status).toBe(204)

    const apply = await agent.take()
    expect(apply.runId).toBe(run)
    await apply.finish()
  })

  test.each([
    ['it requires a confirmation', { 'auto-apply': false }, {}, 'planned'],
    ['the plan has no changes', { 'auto-apply': true }, { hasChanges: false }, 'planned_and_finished'],
    ['the plan has failed', { 'auto-apply': true }, { status: 'errored', exitCode: 1 }, 'errored'],
  ] as const)('not if %s', async (_, attributes, outcome, status) => {
    const { setting, run, job } = await startPlan(app, agent, attributes)

    expect((await job.result(outcome, { takesApply: true })).status).toBe(204)

    expect(await runStatus(app, setting, run)).toBe(status)
  })
})
