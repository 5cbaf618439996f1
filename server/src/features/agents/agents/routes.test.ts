import { AGENT_API } from '@groundstate/contract/agent'
import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { addWorkspace, createRun, createRunSetting, readRun, runStatus } from '../../../testing/runs.ts'
import { createPool, createPoolToken } from '../agent-pools/testing/pools.ts'

const app = await createTestApp()

async function send(token: string, method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, data?: object) {
  return app.request({ method, url: `/api/v2${path}`, token, ...(data && { body: { data } }) })
}

describe('agents', () => {
  test('take the jobs of their pool and no others', async () => {
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

  test('are idle, busy, unknown, errored and exited, and are deleted only after they are gone', async () => {
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

  test('that deregister have their waiting claims answered, and keep their id when they return', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(app, setting)
    const token = (await createPoolToken(app, setting, { poolId: pool.id })).attributes.token
    const agent = await createFakeAgent(app, { token, name: 'same' })
    const waiting = agent.claim({ waitMs: 20_000 })
    await agent.claim()

    await app.request({ method: 'POST', url: `${AGENT_API}/agents/${agent.id}/deregister`, token })

    expect(await waiting).toBeUndefined()
    expect((await createFakeAgent(app, { token, name: 'same' })).id).toBe(agent.id)
  })

  test('of the free plan are limited to one', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(app, setting)
    const token = (await createPoolToken(app, setting, { poolId: pool.id })).attributes.token
    await app.db.updateTable('organizations').set({ plan: 'free' }).where('name', '=', setting.organization).execute()
    const first = await createFakeAgent(app, { token, name: 'first' })

    await expect(createFakeAgent(app, { token, name: 'second' })).rejects.toThrow(
      'the free plan, with 1 self-hosted agent',
    )

    const again = await createFakeAgent(app, { token, name: 'first' })
    expect(again.id).toBe(first.id)
    app.clock.advance(61_000)
    await createFakeAgent(app, { token, name: 'second' })
  })

  test('are listed since a moment that exists', async () => {
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
})
