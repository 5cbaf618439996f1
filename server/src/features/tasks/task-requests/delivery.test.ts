import { once } from 'node:events'
import { AGENT_API } from '@groundstate/contract/agent'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { createServer } from '../../../http/server.ts'
import { createTestApp } from '../../../testing/app.ts'
import { allowIdle } from '../../../testing/database.ts'
import type { FakeAgent } from '../../../testing/fake-agent.ts'
import { countLockWaits } from '../../../testing/lock-waits.ts'
import { hmac } from '../../../testing/receiver.ts'
import { actOnRun, readRun } from '../../../testing/runs.ts'
import { callBack, eventually, readResult, runReaches, startDeliveries } from '../../../testing/task-runs.ts'
import { LOADERS, ROUTES } from '../../list.ts'
import { loggedDeliveries, redeliver } from '../task-results/testing/deliveries.ts'
import { createPoolAgent, createPoolRun, createPoolSetting, takeTask } from './testing/pool-tasks.ts'

/** Run task requests sent by an agent of a pool, at the level of the protocol. */

const app = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'false' })
startDeliveries(app)

async function setUp(attributes: Record<string, unknown> = {}) {
  const setting = await createPoolSetting(app)
  const agent = await createPoolAgent(app, setting)
  return { setting, agent, ...(await createPoolRun(app, setting, { agent, ...attributes })) }
}

test('the agent gets the signed request, and the result decides the run', async () => {
  const { setting, agent, run, id } = await setUp({ 'hmac-key': 'key' })

  const request = await takeTask(agent)
  await request.response()
  await callBack(app, request.payload, { status: 'passed' })

  await runReaches(app, setting, { run, status: 'plan_queued' })
  const body = Buffer.from(request.body, 'base64').toString()
  expect(request).toMatchObject({ method: 'POST', url: 'http://receiver.inside/task' })
  expect(request.payload).toMatchObject({ task_result_id: id, run_id: run, stage: 'pre_plan' })
  expect(request.headers['X-TFC-Task-Signature']).toBe(hmac(body, 'key'))
  expect(request.headers['content-type']).toBe('application/json')
})

test('the delivery log has the response and the agent, without the token', async () => {
  const { setting, agent, id } = await setUp()
  const request = await takeTask(agent)
  const echo = Buffer.from(`you sent ${request.payload.access_token}`).toString('base64')

  await request.response({
    durationMs: 12,
    status: 200,
    headers: { server: 'inside', 'set-cookie': ['a=b'] },
    body: echo,
    isTruncated: false,
  })

  const [row] = await loggedDeliveries(app, setting, { id, count: 1 })
  expect(row.attributes).toMatchObject({ attempt: 1, 'duration-ms': 12, 'agent-name': 'rack', error: null })
  expect(row.attributes.response).toMatchObject({
    status: 200,
    headers: { server: 'inside' },
    body: 'you sent [redacted]',
  })
  expect(JSON.stringify(row)).not.toContain(request.payload.access_token)
  expect((await readResult(app, setting, id)).attributes['delivered-at']).not.toBeNull()
})

test.each([
  [
    'a response other than 200',
    { durationMs: 1, status: 503, headers: {}, body: '', isTruncated: false },
    'the response was 503: only 200 acknowledges the request',
  ],
  [
    'a connection failure at the agent, with the same message as on the server',
    { durationMs: 1, error: 'connect ECONNREFUSED 10.0.0.1:80', code: 'ECONNREFUSED' },
    'the agent rack of the pool cellar: connection refused: nothing is listening there (ECONNREFUSED)',
  ],
])('%s leads to another attempt with the same request', async (_, response, error) => {
  const { setting, agent, id } = await setUp()
  const first = await takeTask(agent)

  await first.response(response)
  const second = await takeTask(agent)
  await second.response()

  expect(second.body).toBe(first.body)
  expect(second.token).not.toBe(first.token)
  const rows = await loggedDeliveries(app, setting, { id, count: 2 })
  expect(rows.map(({ attributes }: { attributes: { error: string } }) => attributes.error)).toEqual([null, error])
})

test('an unclaimed request fails after thirty seconds with a reason, and is retried', async () => {
  const { setting, agent, id } = await setUp()
  await app.request({
    method: 'POST',
    url: `/api/agent/v1/agents/${agent.id}/deregister`,
    token: agent.token,
  })
  await eventually(async () => (await queued(id)) === 1)

  app.clock.advance(31_000)
  const [row] = await loggedDeliveries(app, setting, { id, count: 1 })
  const other = await createPoolAgent(app, setting, 'spare')
  const request = await takeTask(other)
  await request.response()

  expect(row.attributes.error).toBe(
    'no agent of the pool cellar claimed the request within 30 s: none that accepts run tasks is online',
  )
  const [second] = await loggedDeliveries(app, setting, { id, count: 2 })
  expect(second.attributes).toMatchObject({ 'agent-name': 'spare', error: null })
})

test('the error does not blame busy agents once they no longer accept run tasks', async () => {
  const { setting, agent, id } = await setUp()
  const body = {
    agentId: agent.id,
    name: 'rack',
    version: '1.0.0',
    os: 'linux',
    arch: 'x64',
    accepts: ['plan', 'apply'],
  }
  await app.request({ method: 'POST', url: `${AGENT_API}/register`, token: agent.token, body })
  await eventually(async () => (await queued(id)) === 1)

  app.clock.advance(31_000)
  const [row] = await loggedDeliveries(app, setting, { id, count: 1 })
  await (await takeTask(await createPoolAgent(app, setting, 'spare'))).response()

  expect(row.attributes.error).toContain('none that accepts run tasks is online')
})

test('without an agent the result ends at its deadline, with a reason', async () => {
  const { setting, agent, id, run } = await setUp()
  await app.request({ method: 'POST', url: `/api/agent/v1/agents/${agent.id}/deregister`, token: agent.token })
  await eventually(async () => (await queued(id)) === 1)
  app.clock.advance(31_000)
  await loggedDeliveries(app, setting, { id, count: 1 })

  app.clock.advance(600_000)
  await runReaches(app, setting, { run, status: 'errored' })

  expect((await readResult(app, setting, id)).attributes).toMatchObject({
    status: 'errored',
    message: expect.stringContaining('no agent of the pool cellar claimed the request within'),
  })
})

test('a request of a dead agent is leased to another, and the late response is rejected', async () => {
  const { setting, agent, id } = await setUp()
  const lost = await takeTask(agent)

  app.clock.advance(lost.leaseMs)
  const [row] = await loggedDeliveries(app, setting, { id, count: 1 })
  const other = await createPoolAgent(app, setting, 'spare')
  const again = await takeTask(other)

  expect(row.attributes.error).toContain(
    'the agent rack of the pool cellar claimed the request and reported no response',
  )
  expect(again.payload.task_result_id).toBe(id)
  expect((await lost.response()).status).toBe(401)
  expect((await again.response()).status).toBe(204)
})

test('a claim with a closed connection gets no request', async () => {
  const setting = await createPoolSetting(app)
  const agent = await createPoolAgent(app, setting)
  const serverUrl = await app.listen()
  const { closed, disconnect } = claimOnSocket(serverUrl, agent)
  const connections = () =>
    new Promise<number>((resolve) => app.server.fastify.server.getConnections((_, found) => resolve(found)))
  await expect.poll(connections).toBe(1)

  disconnect()
  await expect.poll(connections).toBe(0)
  const { id } = await createPoolRun(app, setting, { agent })

  expect(await closed).toBe('gone')
  expect((await takeTask(agent)).payload.task_result_id).toBe(id)
})

test('a claim that disconnects during authentication gets no request', async () => {
  const setting = await createPoolSetting(app)
  const agent = await createPoolAgent(app, setting)
  const server = await createServer(app, { routes: ROUTES, loaders: LOADERS })
  onTestFinished(() => server.fastify.close())
  const arrived = once(server.fastify.server, 'request')
  const url = await server.fastify.listen({ host: '127.0.0.1', port: 0 })

  await app.db.transaction().execute(async (tx) => {
    await allowIdle(tx)
    await tx.selectFrom('agents').select('id').where('id', '=', agent.id).forUpdate().execute()
    const { closed, disconnect } = claimOnSocket(url, agent)
    const [request] = await arrived
    await eventually(async () => (await countLockWaits(app.db)) === 1)
    disconnect()
    await Promise.all([closed, once(request.socket, 'close')])
  })
  await eventually(async () => (await countLockWaits(app.db)) === 0)
  const { id } = await createPoolRun(app, setting, { agent: await createPoolAgent(app, setting, 'spare') })

  expect((await takeTask(await createPoolAgent(app, setting, 'other'))).payload.task_result_id).toBe(id)
})

/** A claim whose connection `disconnect` closes. */
function claimOnSocket(url: string, agent: FakeAgent) {
  const controller = new AbortController()
  const closed = fetch(`${url}${AGENT_API}/agents/${agent.id}/claim-task`, {
    method: 'POST',
    headers: { authorization: `Bearer ${agent.token}`, 'content-type': 'application/json' },
    body: '{"waitMs":60000}',
    signal: controller.signal,
  }).catch(() => 'gone')
  return { closed, disconnect: () => controller.abort() }
}

test('an organization is deleted with its pool, its task and the pending request', async () => {
  const { setting, id } = await setUp()
  await eventually(async () => (await queued(id)) === 1)

  const url = `/api/v2/organizations/${setting.organization}`
  const response = await app.request({ method: 'DELETE', url, token: setting.user.token })

  expect(response.status).toBe(204)
  expect(await open(id)).toBe(0)
})

test('a response may be reported twice, and the first one counts', async () => {
  const { setting, agent, id } = await setUp()
  const request = await takeTask(agent)

  const [one, two] = await Promise.all([request.response(), request.response()])

  expect([204, 401]).toContain(two.status)
  expect(one.status).toBe(204)
  expect(await loggedDeliveries(app, setting, { id, count: 1 })).toHaveLength(1)
})

test('a callback may arrive before the response', async () => {
  const { setting, agent, run, id } = await setUp()
  const request = await takeTask(agent)

  expect((await callBack(app, request.payload, { status: 'passed' })).status).toBe(200)
  await runReaches(app, setting, { run, status: 'plan_queued' })
  expect((await request.response()).status).toBe(204)

  const [row] = await loggedDeliveries(app, setting, { id, count: 1 })
  expect(row.attributes).toMatchObject({ error: null, 'next-attempt-at': null })
})

test('the request of a canceled run is not leased', async () => {
  const { setting, agent, run, id } = await setUp()
  await eventually(async () => (await queued(id)) === 1)

  await actOnRun(app, setting, { run, action: 'cancel' })

  expect(await agent.claimTask()).toBeUndefined()
  const [row] = await loggedDeliveries(app, setting, { id, count: 1 })
  expect(row.attributes.error).toBe('the task result ended before an agent of the pool cellar claimed the request')
})

test('a delivered request is redelivered through the pool', async () => {
  const { setting, agent, id } = await setUp()
  await (await takeTask(agent)).response()
  await loggedDeliveries(app, setting, { id, count: 1 })

  expect((await redeliver(app, setting, id)).status).toBe(200)
  const again = await takeTask(agent)
  await again.response()

  expect(again.payload.task_result_id).toBe(id)
  expect(await loggedDeliveries(app, setting, { id, count: 2 })).toHaveLength(2)
})

test('the request is stored encrypted and deleted after its delivery', async () => {
  const { setting, agent, id } = await setUp()
  const request = await takeTask(agent)
  const { rows } = await sql<{ row: string }>`select q::text as row, encode(request, 'escape') as sent
    from task_requests q where task_result_id = ${id}`.execute(app.db)

  await request.response()
  await loggedDeliveries(app, setting, { id, count: 1 })

  expect(rows).toHaveLength(1)
  expect(JSON.stringify(rows)).not.toContain(request.payload.access_token)
  expect(JSON.stringify(rows)).not.toContain(request.token)
  expect(JSON.stringify(rows)).not.toContain('receiver.inside')
  expect(await open(id)).toBe(0)
})

test('the run shows that its task waits for an agent until the claim', async () => {
  const { setting, agent, run, id } = await setUp({ name: 'scan' })
  await eventually(async () => (await queued(id)) === 1)
  const reason = async () => (await readRun(app, setting, run)).attributes['waiting-reason'] as string

  expect(await reason()).toMatch(/^task scan waits for an agent of the pool cellar, \d+:\d\d left$/)
  await takeTask(agent)

  expect(await reason()).toMatch(/^task scan has not called back, \d+:\d\d left$/)
})

async function queued(resultId: string) {
  return count(resultId, 'queued')
}

async function open(resultId: string) {
  return (await count(resultId, 'queued')) + (await count(resultId, 'leased')) + (await count(resultId, 'answered'))
}

async function count(resultId: string, status: string) {
  const { rows } = await sql<{ count: number }>`select count(*) from task_requests
     where task_result_id = ${resultId} and status = ${status}`.execute(app.db)
  return rows[0]?.count ?? 0
}
