import { AGENT_API } from '@groundstate/contract/agent'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { createRun, createRunSetting, runStatus } from '../../../testing/runs.ts'
import { createPool, createPoolToken } from '../agent-pools/testing/pools.ts'

const app = await createTestApp()

async function createAgent(setting: Awaited<ReturnType<typeof createRunSetting>>, poolId: string, name = 'fake') {
  const token = await createPoolToken(app, setting, { poolId })
  const agent = await createFakeAgent(app, { token: token.attributes.token, name })
  return { agent, tokenId: token.id as string }
}

type Agent = Awaited<ReturnType<typeof createAgent>>['agent']

/** A claim with a long poll. */
function claimFor(agent: Agent, waitMs = 20_000) {
  const url = `${AGENT_API}/agents/${agent.id}/claim`
  return app.request({ method: 'POST', url, token: agent.token, body: { waitMs } })
}

/** Sends a claim, and returns when it is pending: a later claim has got its response. */
async function startClaim(agent: Agent) {
  const response = claimFor(agent)
  expect((await claimFor(agent, 0)).status).toBe(204)
  return { response }
}

test('a revoked token ends the claims of its agents immediately, and they exit', async () => {
  const setting = await createRunSetting(app)
  const pool = await createPool(app, setting)
  const { agent, tokenId } = await createAgent(setting, pool.id)
  const { agent: other } = await createAgent(setting, pool.id, 'other')
  const claim = await startClaim(agent)
  const startedAt = performance.now()

  const url = `/api/v2/authentication-tokens/${tokenId}`
  expect((await app.request({ method: 'DELETE', url, token: setting.user.token })).status).toBe(204)

  expect((await claim.response).status).toBe(401)
  expect(performance.now() - startedAt).toBeLessThan(5_000)
  const status = async (id: string) =>
    (await app.request({ url: `/api/v2/agents/${id}`, token: setting.user.token })).json().data.attributes.status
  expect([await status(agent.id), await status(other.id)]).toEqual(['exited', 'idle'])
  expect((await claimFor(other, 0)).status).toBe(204)
})

test('a deleted pool ends the claims of its agents immediately', async () => {
  const setting = await createRunSetting(app)
  const pool = await createPool(app, setting)
  const { agent } = await createAgent(setting, pool.id)
  const claim = await startClaim(agent)

  const url = `/api/v2/agent-pools/${pool.id}`
  expect((await app.request({ method: 'DELETE', url, token: setting.user.token })).status).toBe(204)

  expect((await claim.response).status).toBe(401)
})

test('a running job finishes after the token of its agent is revoked', async () => {
  const setting = await createRunSetting(app)
  const pool = await createPool(app, setting, { attributes: { 'organization-scoped': true } })
  const { agent, tokenId } = await createAgent(setting, pool.id)
  const attributes = { 'execution-mode': 'agent', 'agent-pool-id': pool.id }
  const workspace = `/api/v2/workspaces/${setting.workspaceId}`
  const body = { data: { type: 'workspaces', attributes } }
  expect((await app.request({ method: 'PATCH', url: workspace, token: setting.user.token, body })).status).toBe(200)
  const run = await createRun(app, setting)
  const job = await agent.take()

  const url = `/api/v2/authentication-tokens/${tokenId}`
  await app.request({ method: 'DELETE', url, token: setting.user.token })

  expect((await job.heartbeat()).status).toBe(200)
  expect((await job.log('still here')).status).toBe(200)
  expect((await job.finish({ hasChanges: false })).status).toBe(204)
  expect(await runStatus(app, setting, run)).toBe('planned_and_finished')
})

test('a token has the time of its last use by an agent', async () => {
  const setting = await createRunSetting(app)
  const pool = await createPool(app, setting)
  const { agent, tokenId } = await createAgent(setting, pool.id)
  const lastUse = async () => {
    const url = `/api/v2/authentication-tokens/${tokenId}`
    const { data } = (await app.request({ url, token: setting.user.token })).json()
    return Date.parse(data.attributes['last-used-at'])
  }
  const registered = await lastUse()

  app.clock.advance(90_000)
  await claimFor(agent, 0)

  expect(app.now().getTime() - (await lastUse())).toBeLessThan(30_000)
  expect((await lastUse()) - registered).toBeGreaterThanOrEqual(90_000)
})
