import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { runStatus } from '../../../testing/runs.ts'
import { createLeaseReaper, type LeaseReaper } from './reap-leases.ts'
import { startPlan } from './testing/jobs.ts'

const app = await createTestApp({ GROUNDSTATE_LEASE: '20000' })
const agent = await createFakeAgent(app)

/** Checks as often as the loop for this time, in ms; returns the number of reaped jobs. */
async function watch(reaper: LeaseReaper, ms: number) {
  let reaped = 0
  for (let left = ms; left > 0; left -= reaper.intervalMs) {
    app.clock.advance(reaper.intervalMs)
    reaped += await reaper.check()
  }
  return reaped
}

async function losePlan() {
  const started = await startPlan(app, agent)
  app.clock.advance(60_000)
  return started
}

test('a server waits for the length of a lease after its start before it ends a lease', async () => {
  const { setting, run, job } = await losePlan()
  const reaper = createLeaseReaper(app.as())

  expect(await reaper.check()).toBe(0)
  expect(await watch(reaper, 15_000)).toBe(0)
  expect(await runStatus(app, setting, run)).toBe('planning')
  expect(await watch(reaper, 10_000)).toBe(1)
  expect(await runStatus(app, setting, run)).toBe('plan_queued')
  expect((await job.heartbeat()).status).toBe(409)
  await (await agent.take()).finish({ hasChanges: false })
})

test('a suspended server waits again', async () => {
  const reaper = createLeaseReaper(app.as())
  await watch(reaper, 60_000)
  const { setting, run, job } = await losePlan()

  expect(await reaper.check()).toBe(0)
  expect((await job.heartbeat()).status).toBe(200)
  expect(await watch(reaper, 15_000)).toBe(0)
  await job.heartbeat()
  expect(await watch(reaper, 15_000)).toBe(0)

  expect(await runStatus(app, setting, run)).toBe('planning')
  await job.finish({ hasChanges: false })
})

test('a server that was disconnected from its database waits again', async () => {
  let isAway = false
  const ctx = app.as()
  const reaper = createLeaseReaper({
    ...ctx,
    get db() {
      if (isAway) throw new Error('Connection terminated unexpectedly')
      return ctx.db
    },
  })
  await watch(reaper, 60_000)
  const { setting, run, job } = await startPlan(app, agent)
  isAway = true
  for (let look = 0; look < 15; look += 1) await expect(watch(reaper, reaper.intervalMs)).rejects.toThrow('terminated')

  isAway = false

  expect(await watch(reaper, 15_000)).toBe(0)
  expect(await runStatus(app, setting, run)).toBe('planning')
  expect((await job.heartbeat()).status).toBe(200)
  await job.finish({ hasChanges: false })
})

test('the length of a lease is a setting; that of an apply is four times as long', async () => {
  const { job: plan } = await startPlan(app, agent, { 'auto-apply': true })
  await plan.finish()
  const apply = await agent.take()

  expect([plan.leaseMs, apply.leaseMs]).toEqual([20_000, 80_000])
  await apply.finish()
})
