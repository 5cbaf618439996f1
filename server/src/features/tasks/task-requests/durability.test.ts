import { sql } from 'kysely'
import { expect, inject, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { databaseUrl } from '../../../testing/database.ts'
import { callBack, eventually, readResult, runReaches } from '../../../testing/task-runs.ts'
import { loggedDeliveries } from '../task-results/testing/deliveries.ts'
import { startReplica, startReplicaProcess } from '../task-results/testing/replica.ts'
import { createPoolAgent, createPoolRun, createPoolSetting, takeTask } from './testing/pool-tasks.ts'

/** Processes that wait for an agent's report, and exit before it arrives. This one only serves the agent. */

const SETTINGS = { GROUNDSTATE_BASE_URL: 'https://groundstate.example', GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true' }
const app = await createTestApp(SETTINGS)
const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(app.db)
const url = databaseUrl(inject('postgres').adminUrl, rows[0]?.name ?? '')

async function setUp() {
  const setting = await createPoolSetting(app)
  const agent = await createPoolAgent(app, setting)
  return { setting, agent, ...(await createPoolRun(app, setting, { agent })) }
}

test('a response for a stopped process is recorded by another one as the same attempt', async () => {
  const { setting, agent, id } = await setUp()
  const replica = await startReplica(app, url)
  const request = await takeTask(agent)

  await replica[Symbol.asyncDispose]()
  await request.response()
  await using _ = await startReplica(app, url)

  const deliveries = await loggedDeliveries(app, setting, { id, count: 1 })
  expect(deliveries).toHaveLength(1)
  expect(deliveries[0].attributes).toMatchObject({ attempt: 1, error: null, 'agent-name': 'rack' })
  expect(await agent.claimTask()).toBeUndefined()
})

test('a request remains queued for an agent across a restart', async () => {
  const { agent, id } = await setUp()
  const replica = await startReplica(app, url)
  await eventually(async () => {
    const { rows } = await sql`select from task_requests where task_result_id = ${id}`.execute(app.db)
    return rows.length === 1
  })

  await replica[Symbol.asyncDispose]()
  const request = await takeTask(agent)

  expect(request.payload.task_result_id).toBe(id)
})

test('a killed process loses neither a leased request nor its response', async () => {
  const { setting, agent, run, id } = await setUp()
  const first = await startReplicaProcess(app, url, SETTINGS)
  const request = await takeTask(agent)
  const deadline = (await readResult(app, setting, id)).attributes['deadline-at']

  await first.kill()
  expect((await request.response()).status).toBe(204)
  // The leases expire.
  await sql`update task_results set lease_expires_at = lease_expires_at - interval '10 s'
     where lease_expires_at is not null`.execute(app.db)
  await startReplicaProcess(app, url, SETTINGS)

  const [row] = await loggedDeliveries(app, setting, { id, count: 1 })
  expect(row.attributes).toMatchObject({ error: null, response: { status: 200 } })
  expect(await agent.claimTask()).toBeUndefined()
  expect((await readResult(app, setting, id)).attributes['deadline-at']).toBe(deadline)
  await callBack(app, request.payload, { status: 'passed' })
  await runReaches(app, setting, { run, status: 'plan_queued' })
}, 60_000)

test('two processes lease a request to one of two agents', async () => {
  const setting = await createPoolSetting(app)
  const agents = [await createPoolAgent(app, setting), await createPoolAgent(app, setting, 'spare')] as const
  const { id } = await createPoolRun(app, setting, { agent: agents[0] })
  await using replicas = new AsyncDisposableStack()
  replicas.use(await startReplica(app, url))
  replicas.use(await startReplica(app, url))

  const taken = await Promise.all(agents.map(async (agent) => agent.claimTask({ waitMs: 3_000 })))
  const requests = taken.filter((request) => request?.payload.task_result_id === id)
  await requests[0]?.response()

  expect(requests).toHaveLength(1)
  expect(await loggedDeliveries(app, setting, { id, count: 1 })).toHaveLength(1)
})
