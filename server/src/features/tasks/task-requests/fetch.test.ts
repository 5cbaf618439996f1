import { AGENT_API } from '@groundstate/contract/agent'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { type FakeAgent, createFakeAgent } from '../../../testing/fake-agent.ts'
import { eventually, startDeliveries } from '../../../testing/task-runs.ts'
import { fetchThroughPool } from './fetch.ts'
import { createPoolAgent, createPoolRun, createPoolSetting, takeTask } from './testing/pool-tasks.ts'

/** Requests to hosts of repositories through the agents of a pool, at the level of the protocol. */

const app = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'false' })
startDeliveries(app)
const HOST = 'http://git.inside/api/user'

async function setUp() {
  const setting = await createPoolSetting(app)
  const agent = await createPoolAgent(app, setting)
  // The server must know that this agent accepts requests.
  await claim(agent, 0)
  const send = fetchThroughPool(app.as(), { id: setting.poolId, name: setting.poolName })
  return { setting, agent, send }
}

async function claim(agent: FakeAgent, waitMs = 2_000) {
  return agent.claimTask({ waitMs, accepts: ['repository'] })
}

async function take(agent: FakeAgent) {
  return eventually(async () => claim(agent))
}

const answer = { durationMs: 1, status: 200, headers: {}, body: '', isTruncated: false }

async function remaining(poolId: string) {
  const { rows } = await sql`select from task_requests where agent_pool_id = ${poolId}`.execute(app.db)
  return rows.length
}

test('an agent gets the request, and the caller its response', async () => {
  const { agent, send, setting } = await setUp()

  const sent = send(HOST, { method: 'PATCH', headers: { authorization: 'Bearer key' }, body: '{"a":1}' })
  const request = await take(agent)
  const headers = { link: '<next>; rel="next"', 'x-a': ['1', '2'] }
  await request.response({ ...answer, status: 201, headers, body: Buffer.from('created').toString('base64') })
  const response = await sent

  expect(request).toMatchObject({ kind: 'repository', method: 'PATCH', url: HOST, maxBytes: 16 * 1024 * 1024 })
  expect(request.headers).toEqual({ authorization: 'Bearer key' })
  expect(Buffer.from(request.body, 'base64').toString()).toBe('{"a":1}')
  expect(response.status).toBe(201)
  expect(response.headers.get('x-a')).toBe('1, 2')
  expect(await response.text()).toBe('created')
  expect(await remaining(setting.poolId)).toBe(0)
})

test('the row of a request shows neither the token nor the response', async () => {
  const { agent, send, setting } = await setUp()
  const sent = send(HOST, { headers: { authorization: 'Bearer s3cret' } })
  const request = await take(agent)
  await request.upload(Buffer.from('confidential'))

  const { rows } = await sql<{ text: string }>`select encode(request, 'escape') || encode(content, 'escape') as text
    from task_requests where agent_pool_id = ${setting.poolId}`.execute(app.db)
  await request.response({ ...answer, isUploaded: true })

  expect(rows[0]?.text).not.toMatch(/s3cret|confidential/)
  expect(await (await sent).text()).toBe('confidential')
})

test('a response of 16 MB is uploaded, also twice', async () => {
  const { agent, send } = await setUp()
  const body = Buffer.alloc(16 * 1024 * 1024, 'large ')

  const sent = send(HOST)
  const request = await take(agent)
  const uploads = [await request.upload(body), await request.upload(body)]
  await request.response({ ...answer, isUploaded: true })

  expect(uploads.map(({ status }) => status)).toEqual([204, 204])
  expect(body.equals(Buffer.from(await (await sent).arrayBuffer()))).toBe(true)
})

test('a larger response is refused', async () => {
  const { agent, send } = await setUp()
  const sent = send(HOST).catch(String)
  const request = await take(agent)

  const upload = await request.upload(Buffer.alloc(16 * 1024 * 1024 + 1))
  await request.response({ ...answer, isTruncated: true })

  expect(upload.status).toBe(413)
  expect(await sent).toContain('the response is larger than 16 MB, or was interrupted')
})

test('a failure names the agent', async () => {
  const { agent, send } = await setUp()
  const sent = send(HOST).catch(String)

  await (await take(agent)).response({ durationMs: 1, error: 'connect failed', code: 'ECONNREFUSED' })

  expect(await sent).toContain('the agent rack of the pool cellar: connection refused: nothing is listening there')
})

test('without an agent that accepts the work nothing is queued', async () => {
  const setting = await createPoolSetting(app)
  const former = await createFakeAgent(app, { token: setting.poolToken, accepts: ['plan', 'apply', 'task'] })
  await former.claimTask()
  const send = fetchThroughPool(app.as(), { id: setting.poolId, name: 'cellar' })

  const failed = await send(HOST).catch(String)

  expect(failed).toContain(
    'no agent of the agent pool cellar that accepts work for repositories is online: start one, then try again',
  )
  expect(await remaining(setting.poolId)).toBe(0)
})

test('an agent of an earlier version gets no requests to hosts, and its tasks do not wait behind them', async () => {
  const { setting, agent, send } = await setUp()
  const former = await createFakeAgent(app, { token: setting.poolToken, name: 'old', accepts: ['task'] })
  const url = `${AGENT_API}/agents/${former.id}/claim-task`
  const controller = new AbortController()
  const sent = send(HOST, { signal: controller.signal }).catch(String)
  await eventually(async () => (await remaining(setting.poolId)) === 1)

  const claimed = await app.request({ method: 'POST', url, token: former.token, body: { waitMs: 100 } })
  controller.abort()

  expect(claimed.status).toBe(204)
  expect(await sent).toContain('the agents of the pool cellar reported no response in time')
  expect(await remaining(setting.poolId)).toBe(0)
  expect(await claim(agent, 0)).toBeUndefined()
})

test('an agent that accepts only hosts gets no run tasks', async () => {
  const { setting, agent } = await setUp()
  await createPoolRun(app, setting, { agent })
  await eventually(async () => (await remaining(setting.poolId)) === 1)

  expect(await claim(agent, 100)).toBeUndefined()
  expect(await takeTask(agent)).toMatchObject({ kind: 'task', method: 'POST' })
})

test('a request that no agent claims fails after ten seconds', async () => {
  const { agent, setting, send } = await setUp()
  const sent = send(HOST).catch(String)
  await eventually(async () => (await remaining(setting.poolId)) === 1)

  app.clock.advance(11_000)

  expect(await sent).toContain('no agent of the pool cellar claimed the request within 10 s: its agents are busy')
  expect(await claim(agent, 0)).toBeUndefined()
})

test('an agent that is lost with a request fails it', async () => {
  const { agent, send } = await setUp()
  const sent = send(HOST, { method: 'POST', body: '{}' }).catch(String)
  const request = await take(agent)

  app.clock.advance(46_000)

  expect(await sent).toContain('the agent rack of the pool cellar claimed the request and reported no response')
  expect((await request.response(answer)).status).toBe(401)
})

test('the body of a run task is not uploaded', async () => {
  const { setting, agent } = await setUp()
  await createPoolRun(app, setting, { agent })

  const upload = await (await takeTask(agent)).upload(Buffer.from('a'))

  expect(upload.status).toBe(401)
})
