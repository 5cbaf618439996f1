import { AGENT_API } from '@groundstate/contract/agent'
import { beforeAll, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace, type TestUser } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { startReceiver, type TestReceiver } from '../../../testing/receiver.ts'
import { addWorkspace, createRun } from '../../../testing/runs.ts'
import { attachTask, createTask, postTask } from '../../../testing/task-runs.ts'
import { createPool, createPoolToken } from '../../agents/agent-pools/testing/pools.ts'

let app: TestApp
let admin: TestUser
let receiver: TestReceiver
beforeAll(async () => {
  app = await createTestApp()
  admin = await createUser(app, { username: 'root', isSiteAdmin: true })
  receiver = await startReceiver()
})

type Method = 'GET' | 'POST' | 'PATCH'
const send = (token: string, method: Method, path: string, data?: object) =>
  app.request({ method, url: `/api/v2${path}`, token, ...(data && { body: { data } }) })

async function newSetting() {
  const user = await createUser(app)
  const { name } = await createOrganization(app, user)
  const setting = await addWorkspace(app, { user, organization: name })
  const onPlan = async (plan: string) => {
    const response = await send(admin.token, 'PATCH', `/admin/organizations/${name}`, {
      type: 'organizations',
      attributes: { plan },
    })
    expect(response.status).toBe(200)
  }
  const entitlements = async () =>
    (await send(user.token, 'GET', `/organizations/${name}/entitlement-set`)).json().data.attributes
  return { ...setting, receiver, onPlan, entitlements }
}

/** A pool with a workspace, and a function that starts an agent in it. */
async function withPool(setting: Awaited<ReturnType<typeof newSetting>>, name = 'pool') {
  const pool = await createPool(app, setting, { name })
  const { token } = (await createPoolToken(app, setting, { poolId: pool.id })).attributes
  return { poolId: pool.id as string, start: async (agent: string) => createFakeAgent(app, { token, name: agent }) }
}

describe('INTERFACE §6 the entitlement set', () => {
  test.each([
    ['free', { 'global-run-tasks': false, 'run-task-limit': 1, 'run-task-workspace-limit': 10, 'agent-limit': 1 }],
    [
      'standard',
      { 'global-run-tasks': true, 'run-task-limit': null, 'run-task-workspace-limit': null, 'agent-limit': null },
    ],
    [
      'unlimited',
      { 'global-run-tasks': true, 'run-task-limit': null, 'run-task-workspace-limit': null, 'agent-limit': null },
    ],
  ])('of the plan %s has its limits, and the features of every plan', async (plan, limits) => {
    const { onPlan, entitlements } = await newSetting()

    await onPlan(plan)

    expect(await entitlements()).toMatchObject({
      ...limits,
      operations: true,
      agents: true,
      'run-tasks': true,
      'audit-logging': true,
      'user-limit': null,
    })
  })

  test('includes the audit trail, which the free plan has', async () => {
    const { onPlan, user, organization } = await newSetting()

    await onPlan('free')

    expect((await send(user.token, 'GET', `/organizations/${organization}/audit-trail`)).status).toBe(200)
  })

  test('has the same limits as the feature set of the plan', async () => {
    const sets = (await send(admin.token, 'GET', '/admin/feature-sets')).json().data

    expect(sets.map(({ attributes }: any) => attributes)).toEqual([
      expect.objectContaining({
        identifier: 'free',
        'is-free-tier': true,
        'run-task-limit': 1,
        'run-task-workspace-limit': 10,
        'agents-ceiling': 1,
      }),
      expect.objectContaining({ identifier: 'standard', 'is-free-tier': false, 'run-task-limit': null }),
      expect.objectContaining({ identifier: 'unlimited', 'is-free-tier': false, 'agents-ceiling': null }),
    ])
  })
})

describe('INTERFACE §6.6 a downgrade to the free plan', () => {
  test('all run tasks keep working, and a new one is rejected until the plan is upgraded', async () => {
    const setting = await newSetting()
    const kept = await createTask(app, setting)
    const other = await createTask(app, setting)
    for (const task of [kept, other]) await attachTask(app, setting, { task, stages: ['pre_plan'] })

    await setting.onPlan('free')
    const run = await createRun(app, setting)
    const refused = await postTask(app, setting, { url: receiver.url })
    const renamed = await send(setting.user.token, 'PATCH', `/tasks/${kept}`, {
      type: 'tasks',
      attributes: { description: 'still ours' },
    })
    await setting.onPlan('standard')
    const later = await postTask(app, setting, { url: receiver.url })

    expect((await send(setting.user.token, 'GET', `/runs/${run}/task-stages`)).json().data).toMatchObject([
      { relationships: { 'task-results': { data: [{}, {}] } } },
    ])
    expect(refused.status).toBe(422)
    expect(refused.json().errors[0].detail).toBe('the free plan allows 1 run task, and the organization already has 2')
    expect(renamed.status).toBe(200)
    expect(later.status).toBe(201)
  })

  test('a global task stays in all workspaces, and a new workspace is rejected until the plan is upgraded', async () => {
    const setting = await newSetting()
    const { user, organization } = setting
    await createTask(app, setting, { name: 'global', 'global-configuration': { enabled: true } })
    for (let index = 0; index < 11; index += 1) await createWorkspace(app, { organization, actor: user.actor })
    const create = () =>
      send(user.token, 'POST', `/organizations/${organization}/workspaces`, {
        type: 'workspaces',
        attributes: { name: 'one-more' },
      })

    await setting.onPlan('free')
    const refused = await create()
    await setting.onPlan('unlimited')
    const later = await create()

    expect(refused.status).toBe(422)
    expect(refused.json().errors[0].detail).toContain('the free plan allows run tasks in 10 workspaces')
    expect(later.status).toBe(201)
  })

  test('all agents keep working, and a new one is rejected until the plan is upgraded', async () => {
    const setting = await newSetting()
    const { poolId, start } = await withPool(setting)
    const ours = await addWorkspace(app, {
      ...setting,
      attributes: { 'execution-mode': 'agent', 'agent-pool-id': poolId },
    })
    const agents = [await start('one'), await start('two')]

    await setting.onPlan('free')
    for (const agent of agents) {
      await createRun(app, ours, { 'plan-only': true })
      await (await agent.take()).finish({ hasChanges: false })
    }
    await expect(start('three')).rejects.toThrow(
      'has the free plan, with at most 1 self-hosted agent, and these are already online: one, two',
    )
    await setting.onPlan('standard')

    expect((await start('three')).id).toMatch(/^agent-/)
  })
})

describe('INTERFACE §6.3 the free plan', () => {
  test('allows one agent in all pools together, even for concurrent registrations', async () => {
    const setting = await newSetting()
    const pools = [await withPool(setting, 'north'), await withPool(setting, 'south')]
    await setting.onPlan('free')

    const responses = await Promise.allSettled(pools.map(({ start }) => start('agent')))

    expect(responses.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  })

  test('counts a busy agent, although it does not claim jobs', async () => {
    const setting = await newSetting()
    const { poolId, start } = await withPool(setting)
    await setting.onPlan('free')
    const ours = await addWorkspace(app, {
      ...setting,
      attributes: { 'execution-mode': 'agent', 'agent-pool-id': poolId },
    })
    await createRun(app, ours, { 'plan-only': true })
    const job = await (await start('busy')).take()

    app.clock.advance(61_000)
    await job.heartbeat()

    await expect(start('second')).rejects.toThrow('and this one is already online: busy')
    await job.finish({ hasChanges: false })
    expect((await start('second')).id).toMatch(/^agent-/)
  })

  test('replaces an offline agent by the next one; the former cannot return in addition', async () => {
    const setting = await newSetting()
    const { start } = await withPool(setting)
    await setting.onPlan('free')
    const silent = await start('silent')

    app.clock.advance(61_000)
    const next = await start('next')
    const back = await app.request({
      method: 'POST',
      url: `${AGENT_API}/agents/${silent.id}/claim`,
      token: silent.token,
      body: { waitMs: 0, warmRunIds: [] },
    })

    expect(back.status).toBe(409)
    await expect(start('silent')).rejects.toThrow('online: next')
    expect(await next.claim()).toBeUndefined()
  })

  test('gives no job to a waiting claim whose agent was replaced, but to the next agent', async () => {
    const setting = await newSetting()
    const { poolId, start } = await withPool(setting)
    await setting.onPlan('free')
    const silent = await start('silent')
    const waiting = silent.claim({ waitMs: 10_000 })
    await silent.claim()
    app.clock.advance(61_000)
    const next = await start('next')
    const attributes = { 'execution-mode': 'agent', 'agent-pool-id': poolId }
    await createRun(app, await addWorkspace(app, { ...setting, attributes }), { 'plan-only': true })

    const job = await next.take()

    expect(await waiting).toBeUndefined()
    await job.finish({ hasChanges: false })
  })

  test('does not count built-in agents', async () => {
    const setting = await newSetting()
    const { start } = await withPool(setting)
    await setting.onPlan('free')
    await createFakeAgent(app)

    expect((await start('first')).id).toMatch(/^agent-/)
  })
})
