import { AGENT_API } from '@groundstate/contract/agent'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { createRunSetting } from '../../../testing/runs.ts'
import { createPool, createPoolToken } from '../../agents/agent-pools/testing/pools.ts'

const app = await createTestApp()

test("a revoked token ends its agents' request claims immediately", async () => {
  const setting = await createRunSetting(app)
  const pool = await createPool(app, setting)
  const token = await createPoolToken(app, setting, { poolId: pool.id })
  const agent = await createFakeAgent(app, { token: token.attributes.token })
  const url = `${AGENT_API}/agents/${agent.id}/claim-task`
  const claim = app.request({ method: 'POST', url, token: agent.token, body: { waitMs: 20_000 } })
  // The claim is pending once a later one has its response.
  await agent.claimTask()
  const startedAt = performance.now()

  const revoked = `/api/v2/authentication-tokens/${token.id}`
  expect((await app.request({ method: 'DELETE', url: revoked, token: setting.user.token })).status).toBe(204)

  expect((await claim).status).toBe(401)
  expect(performance.now() - startedAt).toBeLessThan(5_000)
})

test('a claim gets 503 while the database fails', async () => {
  const agent = await createFakeAgent(app)
  await sql`alter table task_requests rename to task_requests_away`.execute(app.db)

  const claim = await agent.claimTask().catch(String)
  await sql`alter table task_requests_away rename to task_requests`.execute(app.db)

  expect(claim).toContain('the request queue cannot be read at the moment')
  expect(await agent.claimTask()).toBeUndefined()
})
