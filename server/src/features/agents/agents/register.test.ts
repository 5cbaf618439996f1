import { VERSION } from '@groundstate/agent/build'
import { AGENT_API } from '@groundstate/contract/agent'
import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { createRunSetting } from '../../../testing/runs.ts'
import { createBuiltInAgentToken } from '../agent-pools/service.ts'
import { createPool, createPoolToken } from '../agent-pools/testing/pools.ts'
import { sender } from '../agent-pools/testing/send.ts'

const app = await createTestApp()
const send = sender(app)

describe('agents', () => {
  test('that deregister end their pending claims, and keep their id when they return', async () => {
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
      'the free plan, with at most 1 self-hosted agent, and this one is already online: first',
    )

    const again = await createFakeAgent(app, { token, name: 'first' })
    expect(again.id).toBe(first.id)
    app.clock.advance(61_000)
    await createFakeAgent(app, { token, name: 'second' })
  })

  test('show the properties of their registration', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(app, setting)
    const { token } = (await createPoolToken(app, setting, { poolId: pool.id })).attributes
    const engines = [{ product: 'terraform', version: '1.11.4' }]
    const body = {
      name: 'rack',
      version: '1.2.3',
      os: 'linux',
      arch: 'arm64',
      engines,
      concurrency: 3,
      accepts: ['plan'],
    }

    const registered = await app.request({ method: 'POST', url: `${AGENT_API}/register`, token, body })
    const shown = await send(setting.user.token, 'GET', `/agents/${registered.json().agentId}`)

    expect(registered.json()).toMatchObject({ poolId: pool.id, poolName: 'pool', serverVersion: VERSION })
    expect(shown.json().data.attributes).toMatchObject({
      name: 'rack',
      status: 'idle',
      version: '1.2.3',
      os: 'linux',
      arch: 'arm64',
      engines,
      concurrency: 3,
      accepts: ['plan'],
      'current-jobs': [],
      'ip-address': '127.0.0.1',
    })
  })

  test('of an earlier version send fewer properties, and accept runs', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(app, setting)
    const { token } = (await createPoolToken(app, setting, { poolId: pool.id })).attributes
    const agent = await createFakeAgent(app, { token })

    const shown = await send(setting.user.token, 'GET', `/agents/${agent.id}`)

    expect(shown.json().data.attributes).toMatchObject({ engines: [], concurrency: 1, accepts: ['plan', 'apply'] })
  })

  test.for([
    { concurrency: 0 },
    { accepts: [] },
    { accepts: ['lunch'] },
    { engines: [{ product: 'make', version: '4' }] },
    { name: '' },
    { name: 'x'.repeat(256) },
  ])('with invalid properties are rejected: %j', async (nonsense) => {
    const setting = await createRunSetting(app)
    const pool = await createPool(app, setting)
    const { token } = (await createPoolToken(app, setting, { poolId: pool.id })).attributes
    const body = { name: 'rack', version: '1', os: 'linux', arch: 'x64', ...nonsense }

    const refused = await app.request({ method: 'POST', url: `${AGENT_API}/register`, token, body })

    expect(refused.status).toBe(422)
  })

  test('keep their id when they report other engines, which counts as a heartbeat', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(app, setting)
    const { token } = (await createPoolToken(app, setting, { poolId: pool.id })).attributes
    const agent = await createFakeAgent(app, { token, name: 'rack' })
    const register = (facts: object) =>
      app.request({
        method: 'POST',
        url: `${AGENT_API}/register`,
        token,
        body: { name: 'rack', version: '1', os: 'linux', arch: 'x64', ...facts },
      })
    app.clock.advance(50_000)

    const again = await register({ agentId: agent.id, engines: [{ product: 'tofu', version: '1.9.0' }] })
    app.clock.advance(50_000)
    const shown = await send(setting.user.token, 'GET', `/agents/${agent.id}`)
    const stranger = await register({ agentId: 'agent-of-somebody-else' })

    expect(again.json().agentId).toBe(agent.id)
    expect(shown.json().data.attributes).toMatchObject({
      status: 'idle',
      engines: [{ product: 'tofu', version: '1.9.0' }],
    })
    expect(stranger.json().agentId).not.toBe('agent-of-somebody-else')
  })

  describe('that are built into servers', () => {
    /** A server has a token per start, and all agents have one name and address. */
    async function startServer() {
      const token = await createBuiltInAgentToken(app.as())
      return async (facts: { agentId?: string; formerTokenId?: string; starts?: boolean } = {}) => {
        const body = { name: 'built-in', version: '1', os: 'linux', arch: 'x64', starts: true, ...facts }
        const response = await app.request({ method: 'POST', url: `${AGENT_API}/register`, token, body })
        expect(response.status).toBe(200)
        const { agentId, tokenId } = response.json() as { agentId: string; tokenId: string }
        return { agentId, formerTokenId: tokenId }
      }
    }

    test('get an id per server, whoever was killed or has ended', async () => {
      const former = await (await startServer())()
      app.clock.advance(61_000)

      const fresh = await (await startServer())()
      const restarted = await (await startServer())(former)

      expect(fresh.agentId).not.toBe(former.agentId)
      expect(restarted.agentId).toBe(former.agentId)
    })

    test('keep it when a killed server starts again before they count as offline', async () => {
      const former = await (await startServer())()

      const restarted = await (await startServer())(former)
      const again = await (await startServer())(restarted)

      expect([restarted.agentId, again.agentId]).toEqual([former.agentId, former.agentId])
    })

    test('get another while the server of a copied directory uses it', async () => {
      const former = await (await startServer())()
      const copy = await (await startServer())(former)

      const original = await (await startServer())(former)

      expect(copy.agentId).toBe(former.agentId)
      expect(original.agentId).not.toBe(former.agentId)
    })

    test('that share an id since an earlier version get two', async () => {
      const [first, second] = [await startServer(), await startServer()]
      const { agentId } = await first()

      const other = await second({ agentId })
      const later = await second({ agentId, starts: false })
      const same = await first({ agentId, starts: false })

      expect(other.agentId).not.toBe(agentId)
      expect(later.agentId).not.toBe(agentId)
      expect(same.agentId).toBe(agentId)
    })
  })

  describe('that restart with their former id', () => {
    async function start() {
      const setting = await createRunSetting(app)
      const pool = await createPool(app, setting)
      const { token } = (await createPoolToken(app, setting, { poolId: pool.id })).attributes
      const register = async (facts: object, from = token) => {
        const body = { name: 'rack', version: '1', os: 'linux', arch: 'x64', starts: true, ...facts }
        const response = await app.request({ method: 'POST', url: `${AGENT_API}/register`, token: from, body })
        expect(response.status).toBe(200)
        return response.json().agentId as string
      }
      return { setting, pool, token, register, id: await register({}) }
    }

    test('keep it before they count as offline', async () => {
      const { setting, pool, register, id } = await start()

      const again = await register({ agentId: id })
      const { data } = (await send(setting.user.token, 'GET', `/agent-pools/${pool.id}/agents`)).json()

      expect(again).toBe(id)
      expect(data).toHaveLength(1)
    })

    test('get another while an agent of another name uses it, as with a copied directory', async () => {
      const { register, id } = await start()

      expect(await register({ agentId: id, name: 'copy' })).not.toBe(id)
    })

    test('get another while an agent at another address uses it', async () => {
      const { register, id } = await start()
      await app.db.updateTable('agents').set({ ip_address: '192.0.2.7' }).where('id', '=', id).execute()

      expect(await register({ agentId: id })).not.toBe(id)
    })

    test('keep it under another name after they were offline', async () => {
      const { token, register, id } = await start()
      await app.request({ method: 'POST', url: `${AGENT_API}/agents/${id}/deregister`, token })

      expect(await register({ agentId: id, name: 'renamed' })).toBe(id)
      app.clock.advance(61_000)
      expect(await register({ agentId: id, name: 'renamed again' })).toBe(id)
    })

    test('get another in another pool, or after they were deleted', async () => {
      const { setting, token, register, id } = await start()
      const elsewhere = await createPool(app, setting, { name: 'elsewhere' })
      const other = (await createPoolToken(app, setting, { poolId: elsewhere.id })).attributes.token

      const stranger = await register({ agentId: id }, other)
      await app.request({ method: 'POST', url: `${AGENT_API}/agents/${id}/deregister`, token })
      await send(setting.user.token, 'DELETE', `/agents/${id}`)
      const deleted = await register({ agentId: id })

      expect(new Set([id, stranger, deleted]).size).toBe(3)
    })
  })
})
