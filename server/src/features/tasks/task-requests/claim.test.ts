import { AGENT_API } from '@groundstate/contract/agent'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { type FakeAgent, createFakeAgent } from '../../../testing/fake-agent.ts'
import { type RunSetting, createRunSetting } from '../../../testing/runs.ts'
import { allSignals } from '../../../testing/signals.ts'
import { createPool, createPoolToken } from '../../agents/agent-pools/testing/pools.ts'

const app = await createTestApp()

test("a revoked token ends its agents' request claims immediately", async () => {
  const setting = await createRunSetting(app)
  const { agent, tokenId } = await claimingAgent(setting)
  const claim = claimLong(agent)
  // The claim is pending once a later one has its response.
  await agent.claimTask()
  const startedAt = performance.now()

  await remove(setting, tokenId)

  expect((await claim).status).toBe(401)
  expect(performance.now() - startedAt).toBeLessThan(5_000)
})

test.each([
  ['a revocation', 401, revoke],
  ['a deregistration', 204, async (_: RunSetting, { agent }: Claiming) => deregister(agent)],
] as const)('%s ends a claim that is still being recorded', async (_, status, end) => {
  const setting = await createRunSetting(app)
  const { agent, tokenId } = await claimingAgent(setting)
  const isRecording = async () => {
    const { rows } = await sql`select from pg_locks where relation = 'task_claims'::regclass and not granted`.execute(
      app.db,
    )
    return rows.length
  }

  const claim = await app.db.transaction().execute(async (tx) => {
    await sql`lock table task_claims`.execute(tx)
    const claiming = claimLong(agent)
    await expect.poll(isRecording).toBe(1)
    await end(setting, { agent, tokenId })
    return { claiming, startedAt: performance.now() }
  })

  expect((await claim.claiming).status).toBe(status)
  expect(performance.now() - claim.startedAt).toBeLessThan(5_000)
})

type Claiming = { agent: FakeAgent; tokenId: string }

async function claimingAgent(setting: RunSetting): Promise<Claiming> {
  const pool = await createPool(app, setting)
  const token = await createPoolToken(app, setting, { poolId: pool.id })
  return { agent: await createFakeAgent(app, { token: token.attributes.token }), tokenId: token.id }
}

async function claimLong({ id, token }: FakeAgent) {
  const url = `${AGENT_API}/agents/${id}/claim-task`
  return app.request({ method: 'POST', url, token, body: { waitMs: 20_000 } })
}

async function revoke(setting: RunSetting, { tokenId }: Claiming) {
  await remove(setting, tokenId)
  await allSignals(app)
}

async function remove({ user }: RunSetting, tokenId: string) {
  const url = `/api/v2/authentication-tokens/${tokenId}`
  expect((await app.request({ method: 'DELETE', url, token: user.token })).status).toBe(204)
}

async function deregister({ id, token }: FakeAgent) {
  const url = `${AGENT_API}/agents/${id}/deregister`
  expect((await app.request({ method: 'POST', url, token })).status).toBe(204)
}

test('a claim gets 503 while the database fails', async () => {
  const agent = await createFakeAgent(app)
  await sql`alter table task_requests rename to task_requests_away`.execute(app.db)

  const claim = await agent.claimTask().catch(String)
  await sql`alter table task_requests_away rename to task_requests`.execute(app.db)

  expect(claim).toContain('the request queue cannot be read at the moment')
  expect(await agent.claimTask()).toBeUndefined()
})
