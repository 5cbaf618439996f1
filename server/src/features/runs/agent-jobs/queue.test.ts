import type { WorkKind } from '@groundstate/contract/agent'
import { AGENT_API } from '@groundstate/contract/agent'
import { sql } from 'kysely'
import { afterEach, describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { allowIdle } from '../../../testing/database.ts'
import { createUser } from '../../../testing/factories.ts'
import { createFakeAgent, type FakeAgent, type FakeJob } from '../../../testing/fake-agent.ts'
import { createReplica } from '../../../testing/replica.ts'
import { actOnRun, addWorkspace, createRun, createRunSetting, readRun, type RunSetting } from '../../../testing/runs.ts'
import { createPool, createPoolToken } from '../../agents/agent-pools/testing/pools.ts'

const app = await createTestApp()
const admin = await createUser(app, { isSiteAdmin: true })
const agent = await createFakeAgent(app)

/** A workspace with a pool of its organization, and an agent of that pool. */
async function createPoolSetting(attributes: object = {}) {
  const setting = await createRunSetting(app)
  const pool = await createPool(app, setting, { attributes })
  const token = await createPoolToken(app, setting, { poolId: pool.id })
  const inPool = { 'execution-mode': 'agent', 'agent-pool-id': pool.id }
  const join = async (accepts?: readonly WorkKind[]) =>
    createFakeAgent(app, { token: token.attributes.token, name: 'rack', ...(accepts && { accepts }) })
  return {
    setting: await addWorkspace(app, { ...setting, attributes: inPool }),
    another: async () => addWorkspace(app, { ...setting, attributes: inPool }),
    poolId: pool.id as string,
    join,
  }
}

async function limit(organization: string, value: number | null) {
  const body = { data: { type: 'organizations', attributes: { 'run-concurrency': value } } }
  return app.request({ method: 'PATCH', url: `/api/v2/admin/organizations/${organization}`, token: admin.token, body })
}

const planOnly = (setting: RunSetting) => createRun(app, setting, { 'plan-only': true })

async function repeat<T>(times: number, work: () => Promise<T>): Promise<T[]> {
  const results: T[] = []
  for (let index = 0; index < times; index += 1) results.push(await work())
  return results
}

/** Claims and finishes jobs until none is left; returns them in order. */
async function drain(by: FakeAgent): Promise<FakeJob[]> {
  const jobs: FakeJob[] = []
  for (;;) {
    const job = await by.claim()
    if (!job) return jobs
    jobs.push(job)
    await job.finish({ hasChanges: false })
  }
}

const waitingReason = async (setting: RunSetting, run: string) =>
  (await readRun(app, setting, run)).attributes['waiting-reason']

afterEach(async () => {
  // Clean up after a failed test.
  await drain(agent)
})

describe('the order of the queue', () => {
  test('has applies before plans, and plans before plan-only runs', async () => {
    const setting = await createRunSetting(app)
    const toApply = await createRun(app, setting)
    await (await agent.take()).finish()
    const speculative = await planOnly(setting)
    const plan = await createRun(app, await addWorkspace(app, setting))
    await actOnRun(app, setting, { run: toApply, action: 'apply' })

    const jobs = await drain(agent)

    expect(jobs.map(({ runId, kind }) => [runId, kind])).toEqual([
      [toApply, 'apply'],
      [plan, 'plan'],
      [speculative, 'plan'],
    ])
  })

  test('alternates between organizations with 100, 10 and 1 jobs', async () => {
    const [many, some, one] = [await createRunSetting(app), await createRunSetting(app), await createRunSetting(app)]
    await repeat(100, () => planOnly(many))
    await repeat(10, () => planOnly(some))
    await planOnly(one)

    const order = (await drain(agent)).map(({ organizationName }) => organizationName)

    expect(order).toHaveLength(111)
    expect(order.indexOf(one.organization)).toBeLessThan(6)
    // While the second organization has jobs, it gets every second claim.
    expect(order.slice(0, 24).filter((name) => name === some.organization)).toHaveLength(10)
  })

  test('ignores jobs that an agent claimed ahead of others', async () => {
    const many = await createRunSetting(app)
    const one = await createRunSetting(app)
    const spare = await createFakeAgent(app, { name: 'spare' })
    const settings = [many, ...(await repeat(7, async () => addWorkspace(app, many)))]
    const runs: string[] = []
    for (const [index, setting] of settings.entries()) {
      runs.push(await createRun(app, setting))
      await (await (index === 7 ? agent : spare).take()).finish()
    }
    for (const [index, setting] of settings.entries())
      await actOnRun(app, setting, { run: runs[index] ?? '', action: 'apply' })
    const ahead = await agent.take()
    const toApply = await createRun(app, one)
    await (await spare.claim({ accepts: ['plan'] }))?.finish()
    await actOnRun(app, one, { run: toApply, action: 'apply' })

    const order = (await drain(spare)).map(({ organizationName }) => organizationName)

    expect(ahead.runId).toBe(runs[7])
    expect(order).toHaveLength(8)
    expect(order.indexOf(one.organization)).toBeLessThan(3)
    await ahead.finish()
  })

  test('alternates between the workspaces of an organization', async () => {
    const first = await createRunSetting(app)
    const second = await addWorkspace(app, first)
    await repeat(20, () => planOnly(first))
    await repeat(3, () => planOnly(second))

    const order = (await drain(agent)).map(({ workspaceId }) => workspaceId)

    expect(order.lastIndexOf(second.workspaceId)).toBeLessThan(12)
  })

  test('keeps the order of the jobs of one workspace', async () => {
    const setting = await createRunSetting(app)
    const first = await repeat(5, () => planOnly(setting))
    const begun = [await agent.take(), await agent.take()]
    const second = await repeat(3, () => planOnly(setting))

    const jobs = [...begun, ...(await drain(agent))]

    expect(jobs.map(({ runId }) => runId)).toEqual([...first, ...second])
    await Promise.all(begun.map((job) => job.finish({ hasChanges: false })))
  })

  test('starves no organization, however often others return', async () => {
    const waitingSetting = await createRunSetting(app)
    const others = [await createRunSetting(app), await createRunSetting(app)]
    const waiting = await repeat(3, () => planOnly(waitingSetting))
    await Promise.all(others.map(planOnly))

    const seen: string[] = []
    for (let round = 0; round < 16; round += 1) {
      const job = await agent.take()
      seen.push(job.runId)
      await job.finish({ hasChanges: false })
      const back = others.find(({ organization }) => organization === job.organizationName)
      if (back) await planOnly(back)
    }

    for (const run of waiting) expect(seen).toContain(run)
  })

  test('continues with other workspaces while one is locked by a transaction', async () => {
    const busy = await createRunSetting(app)
    const free = await addWorkspace(app, busy)
    await repeat(2, () => planOnly(busy))
    const run = await planOnly(free)

    const job = await app.db.transaction().execute(async (tx) => {
      await allowIdle(tx)
      await tx.selectFrom('workspaces').select('id').where('id', '=', busy.workspaceId).forUpdate().execute()
      return agent.take()
    })

    expect(job.runId).toBe(run)
    await job.finish({ hasChanges: false })
  })
})

describe('an agent that accepts some kinds of jobs', () => {
  test('leaves the other kinds to other agents', async () => {
    const setting = await createRunSetting(app)
    const run = await createRun(app, setting)

    expect(await agent.claim({ accepts: ['apply'] })).toBeUndefined()
    expect(await agent.claim({ accepts: [] })).toBeUndefined()
    const plan = await agent.claim({ accepts: ['plan'] })
    expect(plan?.runId).toBe(run)
    await plan?.finish()
    await actOnRun(app, setting, { run, action: 'apply' })
    expect(await agent.claim({ accepts: ['plan'] })).toBeUndefined()
    const apply = await agent.claim({ accepts: ['apply'] })
    expect(apply?.kind).toBe('apply')
    await apply?.finish()
  })

  test('does not keep jobs from another agent that waits in the same pool', async () => {
    const setting = await createRunSetting(app)
    const other = await createFakeAgent(app, { name: 'applies' })
    const applies = other.claim({ waitMs: 3000, accepts: ['apply'] })
    const plans = agent.claim({ waitMs: 3000, accepts: ['plan'] })

    const run = await createRun(app, setting)

    const plan = await plans
    expect(plan?.runId).toBe(run)
    await plan?.finish()
    await actOnRun(app, setting, { run, action: 'apply' })
    const apply = await applies
    expect(apply?.kind).toBe('apply')
    await apply?.finish()
  })

  test.each([[['destroy']], ['plan'], [[1]]])('rejects the kinds %j', async (accepts) => {
    const url = `${AGENT_API}/agents/${agent.id}/claim`

    const response = await app.request({ method: 'POST', url, token: agent.token, body: { waitMs: 0, accepts } })

    expect(response.status).toBe(422)
  })
})

test('a job whose signal is lost reaches a waiting agent within seconds', async () => {
  const setting = await createRunSetting(app)
  const waiting = agent.claim({ waitMs: 20_000 })
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name like 'groundstate-signals %' and datname = current_database()`.execute(app.db)

  const run = await planOnly(setting)
  const started = performance.now()
  const job = await waiting

  expect(job?.runId).toBe(run)
  expect(performance.now() - started).toBeLessThan(6000)
  await job?.finish({ hasChanges: false })
})

describe('the limit of an organization', () => {
  test('blocks its jobs while that many are running, and lets others pass', async () => {
    const setting = await createRunSetting(app)
    const other = await createRunSetting(app)
    await limit(setting.organization, 1)
    const [first, second] = await repeat(2, () => planOnly(setting))
    const passing = await planOnly(other)

    const job = await agent.take()
    expect(job.runId).toBe(first)
    expect((await agent.take()).runId).toBe(passing)
    expect(await agent.claim()).toBeUndefined()
    expect(await waitingReason(setting, second ?? '')).toBe('the organization is at its limit of 1 run at once')

    const next = agent.claim({ waitMs: 5000 })
    await job.finish({ hasChanges: false })
    expect((await next)?.runId).toBe(second)
  })

  test('lets others pass, however many blocked jobs are at the head of the queue', async () => {
    const setting = await createRunSetting(app)
    const other = await createRunSetting(app)
    await limit(setting.organization, 1)
    await repeat(60, () => planOnly(setting))
    const job = await agent.take()
    const passing = await repeat(3, () => planOnly(other))

    const jobs = await repeat(3, () => agent.take())

    expect(jobs.map(({ runId }) => runId)).toEqual(passing)
    expect(await agent.claim()).toBeUndefined()
    await Promise.all([job, ...jobs].map((one) => one.finish({ hasChanges: false })))
  })

  test('holds when two servers lease jobs concurrently', async () => {
    const setting = await createRunSetting(app)
    await limit(setting.organization, 3)
    await repeat(12, () => planOnly(setting))
    const replica = await createReplica(app)
    const claimThere = async () => {
      const response = await replica.fastify.inject({
        method: 'POST',
        url: `${AGENT_API}/agents/${agent.id}/claim`,
        headers: { authorization: `Bearer ${agent.token}`, 'content-type': 'application/json' },
        payload: JSON.stringify({ waitMs: 300 }),
      })
      return response.statusCode
    }

    const here = await Promise.all(Array.from({ length: 6 }, () => agent.claim({ waitMs: 300 })))
    const both = await Promise.all([
      ...Array.from({ length: 6 }, claimThere),
      ...Array.from({ length: 6 }, async () => ((await agent.claim({ waitMs: 300 })) ? 200 : 204)),
    ])

    const taken = here.filter((job) => job !== undefined).length
    expect(taken + both.filter((status) => status === 200).length).toBe(3)
    await limit(setting.organization, null)
  })

  test('wakes the agents of all its pools when it is raised or removed', async () => {
    const { setting, poolId } = await createPoolSetting()

    for (const value of [1, 2, null]) {
      using builtIn = app.signals.subscribe('pool:apool-builtin')
      using own = app.signals.subscribe(`pool:${poolId}`)
      await limit(setting.organization, value)

      expect(await builtIn.next({ timeoutMs: 5000 })).toBe(true)
      expect(await own.next({ timeoutMs: 5000 })).toBe(true)
    }
  })

  test('is shown with the capacity, and set by site administrators only', async () => {
    const setting = await createRunSetting(app)
    const url = `/api/v2/organizations/${setting.organization}/capacity`

    expect((await limit(setting.organization, 7)).json().data.attributes['run-concurrency']).toBe(7)
    expect((await app.request({ url, token: setting.user.token })).json().data.attributes).toEqual({
      pending: 0,
      queued: 0,
      running: 0,
      'run-concurrency': 7,
    })
    expect((await limit(setting.organization, 0)).status).toBe(422)
    expect((await limit(setting.organization, 1.5)).status).toBe(422)
    expect((await limit(setting.organization, null)).json().data.attributes['run-concurrency']).toBeNull()
  })
})

describe('the limit of a pool', () => {
  test('blocks jobs while that many are running in the pool', async () => {
    const { setting, another, join } = await createPoolSetting({ 'max-concurrent-jobs': 1 })
    const rack = await join()
    const first = await createRun(app, setting)
    const other = await another()
    const second = await createRun(app, other)

    const job = await rack.take()
    expect(job.runId).toBe(first)
    expect(await rack.claim()).toBeUndefined()
    expect(await waitingReason(other, second)).toBe('the pool pool is at its limit of 1 job at once')

    const next = rack.claim({ waitMs: 5000 })
    await job.finish({ hasChanges: false })
    expect((await next)?.runId).toBe(second)
  })

  test('wakes the agents of the pool when it is raised or removed', async () => {
    const { setting, poolId } = await createPoolSetting({ 'max-concurrent-jobs': 1 })

    for (const value of [2, null]) {
      using pool = app.signals.subscribe(`pool:${poolId}`)
      await app.request({
        method: 'PATCH',
        url: `/api/v2/agent-pools/${poolId}`,
        token: setting.user.token,
        body: { data: { type: 'agent-pools', attributes: { 'max-concurrent-jobs': value } } },
      })

      expect(await pool.next({ timeoutMs: 5000 })).toBe(true)
    }
  })

  test('is changed and removed by users who manage the pool', async () => {
    const { setting, poolId } = await createPoolSetting()
    const send = (value: unknown) =>
      app.request({
        method: 'PATCH',
        url: `/api/v2/agent-pools/${poolId}`,
        token: setting.user.token,
        body: { data: { type: 'agent-pools', attributes: { 'max-concurrent-jobs': value } } },
      })

    expect((await send(4)).json().data.attributes['max-concurrent-jobs']).toBe(4)
    expect((await send(null)).json().data.attributes['max-concurrent-jobs']).toBeNull()
    for (const value of [0, -1, 1.5, '3', 1e9]) expect((await send(value)).status).toBe(422)
  })
})

describe('a pool whose scope no longer includes a workspace with queued runs', () => {
  const narrow = async (setting: RunSetting, poolId: string) =>
    app.request({
      method: 'PATCH',
      url: `/api/v2/agent-pools/${poolId}`,
      token: setting.user.token,
      body: { data: { type: 'agent-pools', attributes: { 'organization-scoped': false } } },
    })

  test.each(['plan', 'apply'] as const)('ends their %s with a reason, and serves others', async (phase) => {
    const { setting, another, poolId, join } = await createPoolSetting()
    const allowed = await another()
    const rack = await join()
    const run = await createRun(app, setting, { 'auto-apply': true })
    if (phase === 'apply') await (await rack.take()).finish()
    await narrow(setting, poolId)
    const url = `/api/v2/agent-pools/${poolId}`
    const data = [{ type: 'workspaces', id: allowed.workspaceId }]
    const body = { data: { type: 'agent-pools', relationships: { 'allowed-workspaces': { data } } } }
    expect((await app.request({ method: 'PATCH', url, token: setting.user.token, body })).status).toBe(200)
    const other = await planOnly(allowed)

    const job = await rack.take()

    expect(job.runId).toBe(other)
    const { attributes } = await readRun(app, setting, run)
    expect(attributes.status).toBe('errored')
    expect(attributes['error-message']).toMatch(
      /^the agent pool pool no longer serves the workspace \S+: allow the workspace/,
    )
    await job.finish({ hasChanges: false })
  })
})

describe('a run that waits for an agent', () => {
  test('reports how many jobs are ahead of it, and whether it is next', async () => {
    const { setting, join } = await createPoolSetting()
    const rack = await join()
    const [first, second, third] = await repeat(3, () => planOnly(setting))

    expect(await waitingReason(setting, first ?? '')).toBe('starts next in the pool pool')
    expect(await waitingReason(setting, second ?? '')).toBe('1 job before it in the pool pool')
    expect(await waitingReason(setting, third ?? '')).toBe('2 jobs before it in the pool pool')
    await drain(rack)
  })

  test('reports that no online agent accepts such jobs', async () => {
    const { setting, join } = await createPoolSetting()
    await join(['apply', 'task'])
    const run = await planOnly(setting)

    expect(await waitingReason(setting, run)).toBe('no agent of the pool pool that is online takes plans')
  })

  test('does not report a pool as empty if all its agents are busy', async () => {
    const { setting, join } = await createPoolSetting()
    const rack = await join()
    const [, second] = await repeat(2, () => planOnly(setting))
    const job = await rack.take()
    app.clock.advance(61_000)

    expect(await waitingReason(setting, second ?? '')).toBe('starts next in the pool pool')
    await job.finish({ hasChanges: false })
  })
})
