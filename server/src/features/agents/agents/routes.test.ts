import { AGENT_API } from '@groundstate/contract/agent'
import { describe, expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { addWorkspace, createRun, createRunSetting, readRun, runStatus } from '../../../testing/runs.ts'
import { createPool, createPoolToken } from '../agent-pools/testing/pools.ts'
import { sender } from '../agent-pools/testing/send.ts'

const app = await createTestApp()
const send = sender(app)

/** An agent of a pool that has claimed the plan of a workspace in it. */
async function startPoolPlan() {
  const setting = await createRunSetting(app)
  const pool = await createPool(app, setting)
  const { token } = (await createPoolToken(app, setting, { poolId: pool.id })).attributes
  const agent = await createFakeAgent(app, { token })
  const attributes = { 'execution-mode': 'agent', 'agent-pool-id': pool.id }
  await createRun(app, await addWorkspace(app, { ...setting, attributes }), { 'plan-only': true })
  return { setting, agent, token, poolId: pool.id as string, job: await agent.take() }
}

describe('agents', () => {
  test('get only the jobs of their pool', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(app, setting)
    const token = await createPoolToken(app, setting, { poolId: pool.id })
    const remote = await createRun(app, setting, { 'plan-only': true })
    const ours = await addWorkspace(app, {
      ...setting,
      attributes: { 'execution-mode': 'agent', 'agent-pool-id': pool.id },
    })
    const run = await createRun(app, ours, { 'plan-only': true })
    expect((await readRun(app, ours, run)).attributes['waiting-reason']).toBe('no agent of the pool pool is online')

    const agent = await createFakeAgent(app, { token: token.attributes.token, name: 'rack' })
    const job = await agent.take()

    expect(job.runId).toBe(run)
    expect(await agent.claim()).toBeUndefined()
    expect(await runStatus(app, setting, remote)).toBe('plan_queued')
    await job.finish({ hasChanges: false })
    const plan = (await send(setting.user.token, 'GET', `/runs/${run}/plan`)).json().data
    expect(plan.attributes['execution-details']).toMatchObject({
      mode: 'agent',
      'agent-name': 'rack',
      'agent-pool-name': 'pool',
    })
    await (await (await createFakeAgent(app)).take()).finish({ hasChanges: false })
  })

  test('are listed and counted by status', async () => {
    const { setting, poolId, token } = await startPoolPlan()
    await createFakeAgent(app, { token, name: 'rack-2' })
    const names = async (query: string) =>
      (await send(setting.user.token, 'GET', `/agent-pools/${poolId}/agents?${query}`))
        .json()
        .data.map(({ attributes }: { attributes: { name: string } }) => attributes.name)

    const { attributes } = (await send(setting.user.token, 'GET', `/agent-pools/${poolId}`)).json().data

    expect(attributes).toMatchObject({
      'agent-count': 2,
      'agent-counts': { idle: 1, busy: 1, unknown: 0, errored: 0 },
    })
    expect(await names('filter[status]=idle')).toEqual(['rack-2'])
    expect(await names('filter[status]=idle,busy&q=RACK')).toEqual(['rack-2'])
    app.clock.advance(61_000)
    expect(await names('filter[status]=unknown')).toContain('rack-2')
  })

  test.for([{ where: 'the workspace' }, { where: 'the project' }, { where: 'the organization' }] as const)(
    'execute runs if $where is configured to use agents',
    async ({ where }) => {
      const setting = await createRunSetting(app)
      const pool = await createPool(app, setting)
      const { token } = (await createPoolToken(app, setting, { poolId: pool.id })).attributes
      const agent = await createFakeAgent(app, { token })
      const workspace = (await send(setting.user.token, 'GET', `/workspaces/${setting.workspaceId}`)).json().data
      const changes = {
        'the workspace': {
          path: `/workspaces/${setting.workspaceId}`,
          data: { type: 'workspaces', attributes: { 'execution-mode': 'agent', 'agent-pool-id': pool.id } },
        },
        'the project': {
          path: `/projects/${workspace.relationships.project.data.id}`,
          data: {
            type: 'projects',
            attributes: { 'default-execution-mode': 'agent', 'default-agent-pool-id': pool.id },
          },
        },
        'the organization': {
          path: `/organizations/${setting.organization}`,
          data: {
            type: 'organizations',
            attributes: { 'default-execution-mode': 'agent' },
            relationships: { 'default-agent-pool': { data: { id: pool.id, type: 'agent-pools' } } },
          },
        },
      }
      const { path, data } = changes[where]

      const changed = await send(setting.user.token, 'PATCH', path, data)
      const run = await createRun(app, setting, { 'plan-only': true })
      const job = await agent.take()

      expect(changed.status).toBe(200)
      expect(job.runId).toBe(run)
      await job.finish({ hasChanges: false })
    },
  )

  test('are idle, busy, unknown, errored or exited, and can be deleted only when offline', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(app, setting)
    const token = await createPoolToken(app, setting, { poolId: pool.id })
    const agent = await createFakeAgent(app, { token: token.attributes.token })
    const ours = await addWorkspace(app, {
      ...setting,
      attributes: { 'execution-mode': 'agent', 'agent-pool-id': pool.id },
    })
    const status = async () =>
      (await send(setting.user.token, 'GET', `/agents/${agent.id}`)).json().data.attributes.status

    expect(await status()).toBe('idle')
    expect(
      (await send(setting.user.token, 'GET', `/agent-pools/${pool.id}`)).json().data.attributes['agent-count'],
    ).toBe(1)
    await createRun(app, ours, { 'plan-only': true })
    const job = await agent.take()
    expect(await status()).toBe('busy')
    expect((await send(setting.user.token, 'DELETE', `/agents/${agent.id}`)).status).toBe(412)
    await job.finish({ hasChanges: false })
    app.clock.advance(61_000)
    expect(await status()).toBe('unknown')
    app.clock.advance(2 * 3_600_000)
    expect(await status()).toBe('errored')
    await agent.claim()
    expect(await status()).toBe('idle')
    const goodbye = { method: 'POST', url: `${AGENT_API}/agents/${agent.id}/deregister`, token: agent.token } as const
    expect((await app.request(goodbye)).status).toBe(204)
    expect(await status()).toBe('exited')
    expect((await send(setting.user.token, 'DELETE', `/agents/${agent.id}`)).status).toBe(204)
    expect((await send(setting.user.token, 'GET', `/agent-pools/${pool.id}/agents`)).json().data).toEqual([])
  })

  test('are busy after deregistration while a job is running', async () => {
    const { setting, agent, token, job } = await startPoolPlan()
    const status = async () =>
      (await send(setting.user.token, 'GET', `/agents/${agent.id}`)).json().data.attributes.status

    await app.request({ method: 'POST', url: `${AGENT_API}/agents/${agent.id}/deregister`, token })

    expect(await status()).toBe('busy')
    expect((await send(setting.user.token, 'DELETE', `/agents/${agent.id}`)).status).toBe(412)
    await job.finish({ hasChanges: false })
    expect(await status()).toBe('exited')
  })

  test('are named by their plans after they are deleted', async () => {
    const { setting, agent, token, job } = await startPoolPlan()
    await job.finish({ hasChanges: false })
    await app.request({ method: 'POST', url: `${AGENT_API}/agents/${agent.id}/deregister`, token })

    const deleted = await send(setting.user.token, 'DELETE', `/agents/${agent.id}`)

    expect(deleted.status).toBe(204)
    const plan = (await send(setting.user.token, 'GET', `/runs/${job.runId}/plan`)).json().data
    expect(plan.attributes['execution-details']).toMatchObject({ 'agent-id': agent.id, 'agent-name': 'fake' })
  })

  test('are not busy with a job whose lease has expired', async () => {
    const { setting, agent } = await startPoolPlan()

    app.clock.advance(3_600_000)
    const shown = await send(setting.user.token, 'GET', `/agents/${agent.id}`)

    expect(shown.json().data.attributes).toMatchObject({ status: 'unknown', 'current-jobs': [] })
  })

  test('show their running jobs, and name the run to users who may read it', async () => {
    const { setting, agent, job } = await startPoolPlan()
    const manager = await createUser(app)
    const organization = (await send(setting.user.token, 'GET', `/organizations/${setting.organization}`)).json().data
    await createTeamWithAccess(app, {
      members: [manager],
      organizationId: organization.attributes['external-id'],
      organization: { manage_agent_pools: true },
    })
    const jobs = async (reader: string) =>
      (await send(reader, 'GET', `/agents/${agent.id}`)).json().data.attributes['current-jobs']
    const startedAt = expect.stringMatching(/^\d{4}-/)

    expect(await jobs(setting.user.token)).toEqual([{ kind: 'plan', 'run-id': job.runId, 'started-at': startedAt }])
    expect(await jobs(manager.token)).toEqual([{ kind: 'plan', 'run-id': null, 'started-at': startedAt }])
    await job.finish({ hasChanges: false })

    expect(await jobs(setting.user.token)).toEqual([])
  })

  test('are counted by their pool while they are online', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(app, setting)
    const { token } = (await createPoolToken(app, setting, { poolId: pool.id })).attributes
    for (const name of ['a', 'b', 'c']) await createFakeAgent(app, { token, name })
    const count = async () =>
      (await send(setting.user.token, 'GET', `/agent-pools/${pool.id}`)).json().data.attributes['agent-count']

    expect(await count()).toBe(3)
    app.clock.advance(61_000)
    expect(await count()).toBe(0)
  })

  test('are filtered by a valid time of their last heartbeat', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(app, setting)
    const list = (since: string) =>
      send(setting.user.token, 'GET', `/agent-pools/${pool.id}/agents?filter[last-ping-since]=${since}`)

    const refused = await list('-271821-04-20T00:00:00Z')

    expect((await list('2026-01-01T00:00:00Z')).status).toBe(200)
    expect(refused.status).toBe(422)
    expect(refused.json().errors[0]).toMatchObject({
      detail: expect.stringContaining('-271821'),
      source: { parameter: 'filter[last-ping-since]' },
    })
  })

  test('are listed by name or age, in pages', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(app, setting)
    const { token } = (await createPoolToken(app, setting, { poolId: pool.id })).attributes
    for (const name of ['b', 'c', 'a']) {
      await createFakeAgent(app, { token, name })
      app.clock.advance(1_000)
    }
    const names = async (query: string) => {
      const list = await send(setting.user.token, 'GET', `/agent-pools/${pool.id}/agents?${query}`)
      return list.json().data.map((agent: any) => agent.attributes.name)
    }

    expect(await names('')).toEqual(['b', 'c', 'a'])
    expect(await names('sort=-created-at')).toEqual(['a', 'c', 'b'])
    expect(await names('sort=name')).toEqual(['a', 'b', 'c'])
    expect(await names('sort=-name')).toEqual(['c', 'b', 'a'])
    expect(await names('sort=name&page[size]=2&page[number]=2')).toEqual(['c'])
  })
})
