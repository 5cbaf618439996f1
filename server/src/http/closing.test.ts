import { AGENT_API } from '@groundstate/contract/agent'
import { Agent, fetch } from 'undici'
import { expect, test } from 'vitest'
import { createTestApp } from '../testing/app.ts'
import { createFakeAgent } from '../testing/fake-agent.ts'
import { createRun, createRunSetting } from '../testing/runs.ts'

test('a server that closes answers those who wait, and ends their connections', async () => {
  const app = await createTestApp()
  const agent = await createFakeAgent(app)
  await createRun(app, await createRunSetting(app))
  const job = await agent.take()
  const url = await app.listen()
  const dispatcher = new Agent({ keepAliveTimeout: 60_000 })
  const post = (path: string, token: string) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    return fetch(`${url}${AGENT_API}${path}`, { dispatcher, method: 'POST', headers, body: '{"waitMs":60000}' })
  }
  const waiting = [post(`/agents/${agent.id}/claim`, agent.token), post(`/jobs/${job.id}/heartbeat`, job.token)]
  const connections = () =>
    new Promise<number>((resolve) => app.server.fastify.server.getConnections((_, count) => resolve(count)))
  await expect.poll(connections).toBe(2)

  const closed = app.server.fastify.close()

  const [claim, heartbeat] = await Promise.all(waiting)
  expect([claim?.status, await heartbeat?.json()]).toEqual([204, { command: 'continue' }])
  expect(claim?.headers.get('connection')).toBe('close')
  await closed
  await dispatcher.close()
})
