import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { createRunSetting } from '../../../testing/runs.ts'
import { createPool, createPoolToken } from '../agent-pools/testing/pools.ts'
import { expireAgents } from './jobs.ts'

const DAY_MS = 86_400_000

test('agents that have been offline for a month are deleted', async () => {
  const app = await createTestApp()
  const setting = await createRunSetting(app)
  const pool = await createPool(app, setting)
  const { token } = (await createPoolToken(app, setting, { poolId: pool.id })).attributes
  const names = async () => {
    const url = `/api/v2/agent-pools/${pool.id}/agents`
    const { data } = (await app.request({ url, token: setting.user.token })).json()
    return data.map((agent: { attributes: { name: string } }) => agent.attributes.name).toSorted()
  }
  await createFakeAgent(app, { token, name: 'gone' })
  const busy = await createFakeAgent(app, { token, name: 'alive' })
  const signal = new AbortController().signal

  app.clock.advance(29 * DAY_MS)
  await busy.claim()
  await expireAgents(app.as(), signal)
  expect(await names()).toEqual(['alive', 'gone'])

  app.clock.advance(2 * DAY_MS)
  await expireAgents(app.as(), signal)
  expect(await names()).toEqual(['alive'])
})
