import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import { connect as connectByTls } from 'node:tls'
import { AGENT_API } from '@groundstate/contract/agent'
import { Agent, fetch } from 'undici'
import { expect, test } from 'vitest'
import { LOADERS, ROUTES } from '../features/list.ts'
import { createTestApp } from '../testing/app.ts'
import { createFakeAgent } from '../testing/fake-agent.ts'
import { createRun, createRunSetting } from '../testing/runs.ts'
import { localCertificate } from '../tls/authority.ts'
import { createServer } from './server.ts'

test('a closing server responds to waiting requests and closes their connections', async () => {
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

test('connections without requests do not delay the shutdown', async () => {
  const app = await createTestApp()
  const https = await localCertificate(`${app.config.dataDir}/tls`, [])
  const secure = await createServer(app, { routes: ROUTES, loaders: LOADERS }, { https })
  await Promise.all([app.listen(), secure.fastify.listen({ host: '127.0.0.1', port: 0 })])
  const [plain, tls] = [app.server, secure].map(({ fastify }) => fastify.server.address() as AddressInfo)
  const clients = [
    connect(plain?.port ?? 0, '127.0.0.1'),
    connect(tls?.port ?? 0, '127.0.0.1'),
    connectByTls({ port: tls?.port ?? 0, host: '127.0.0.1', rejectUnauthorized: false }),
  ]
  await Promise.all(clients.map(async (client, index) => once(client, index === 2 ? 'secureConnect' : 'connect')))
  const ends = clients.map(async (client) => once(client.on('error', () => {}).resume(), 'close'))
  const startedAt = performance.now()

  await Promise.all([app.server.fastify.close(), secure.fastify.close()])

  await Promise.all(ends)
  expect(performance.now() - startedAt).toBeLessThan(5000)
})
