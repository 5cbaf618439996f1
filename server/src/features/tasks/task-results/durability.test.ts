import { sql } from 'kysely'
import { pino } from 'pino'
import { expect, inject, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { databaseUrl } from '../../../testing/database.ts'
import { addWorkspace, createRun } from '../../../testing/runs.ts'
import {
  addTask,
  callBack,
  createTask,
  createTaskSetting,
  eventually,
  readResult,
  runReaches,
  type TaskSetting,
} from '../../../testing/task-runs.ts'
import { claimDeliveries } from './deliveries-store.ts'
import { startReplica } from './testing/replica.ts'

/** Processes that share only the database: each is a separate app with its own loop. */

const app = await createTestApp()
const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(app.db)
const url = databaseUrl(inject('postgres').adminUrl, rows[0]?.name ?? '')

async function waitingRun() {
  const setting = await createTaskSetting(app)
  await addTask(app, setting, { stages: ['pre_plan'] })
  const run = await createRun(app, setting)
  const stages = (await app.request({ url: `/api/v2/runs/${run}/task-stages`, token: setting.user.token })).json().data
  return { setting, run, id: stages[0].relationships['task-results'].data[0].id as string }
}

const attemptsOf = async (setting: TaskSetting, id: string) =>
  (await app.request({ url: `/api/v2/task-results/${id}/deliveries`, token: setting.user.token })).json().data

test('a request due while no process is running is sent when one starts', async () => {
  const { setting, run } = await waitingRun()
  expect(setting.receiver.requests).toHaveLength(0)

  await using _ = await startReplica(app, url)
  const { payload } = await setting.receiver.received(1)
  await callBack(app, payload, { status: 'passed' })

  await runReaches(app, setting, { run, status: 'plan_queued' })
})

test('a request of a dead process is sent by another after its lease expires', async () => {
  const { setting, id } = await waitingRun()
  const now = app.clock.now()
  await claimDeliveries(app.db, {
    now,
    leaseUntil: new Date(now.getTime() + 10_000),
    connections: { all: 10, reserved: 0, perOrganization: 10, perReceiver: 10 },
    busy: [],
  })

  await using _ = await startReplica(app, url)
  const other = await waitingRun()
  await other.setting.receiver.received(1)
  expect(setting.receiver.requests).toHaveLength(0)
  app.clock.advance(10_000)
  await setting.receiver.received(1)

  const [row] = await eventually(async () => {
    const found = await attemptsOf(setting, id)
    return found.length > 0 && found
  })
  expect(row.attributes.attempt).toBe(2)
})

test('a stopped process hands over its pending request', async () => {
  const { setting, id } = await waitingRun()
  setting.receiver.onRequest = () => {}
  {
    await using _ = await startReplica(app, url)
    await setting.receiver.received(1)
  }
  const [stopped] = await attemptsOf(setting, id)
  expect(stopped.attributes.error).toBe('the server was stopped before it received a response')
  setting.receiver.onRequest = undefined

  await using _ = await startReplica(app, url)
  await setting.receiver.received(2)

  const attempts = await eventually(async () => {
    const found = await attemptsOf(setting, id)
    return found.length === 2 && found
  })
  expect(attempts[0].attributes.response.status).toBe(200)
})

test('a restart continues the retries and keeps the deadlines', async () => {
  const { setting, id } = await waitingRun()
  setting.receiver.onRequest = (_, response) => response.writeHead(503).end()
  const deadline = (await readResult(app, setting, id)).attributes['deadline-at']
  {
    await using _ = await startReplica(app, url)
    await eventually(async () => (await attemptsOf(setting, id)).length > 0)
  }

  await using _ = await startReplica(app, url)
  await setting.receiver.received(2)

  expect((await readResult(app, setting, id)).attributes['deadline-at']).toBe(deadline)
})

test('a deadline that passed while no process was running takes effect when one starts', async () => {
  const { setting, run, id } = await waitingRun()
  app.clock.advance(3_600_000)

  await using _ = await startReplica(app, url)
  await runReaches(app, setting, { run, status: 'errored' })

  expect((await readResult(app, setting, id)).attributes.status).toBe('errored')
  expect(setting.receiver.requests).toHaveLength(0)
})

test('two processes send every request once, and none misses the deadline', async () => {
  const setting = await createTaskSetting(app)
  const everywhere = {
    'global-configuration': { enabled: true, stages: ['pre_plan'], 'enforcement-level': 'mandatory' },
  }
  await Promise.all(Array.from({ length: 20 }, async () => createTask(app, setting, everywhere)))
  const { user, organization } = setting
  const places = await Promise.all(Array.from({ length: 10 }, async () => addWorkspace(app, { user, organization })))
  await using replicas = new AsyncDisposableStack()
  replicas.use(await startReplica(app, url))
  replicas.use(await startReplica(app, url))

  const runs = await Promise.all(places.map(async (place) => createRun(app, place)))
  await setting.receiver.received(200)
  const delivered = async () => {
    const { rows: open } = await sql<{ count: number }>`select count(*) from task_results
       where delivered_at is null and run_id = any(${runs})`.execute(app.db)
    return open[0]?.count === 0
  }
  await eventually(delivered)
  expect(new Set(setting.receiver.requests.map(({ payload }) => payload.task_result_id)).size).toBe(200)
  expect(setting.receiver.requests).toHaveLength(200)

  app.clock.advance(600_000)
  const since = performance.now()
  await Promise.all(runs.map(async (run) => runReaches(app, setting, { run, status: 'errored' })))

  expect(performance.now() - since).toBeLessThan(2000)
})

test('a response after the deletion of the workspace is not an error', async () => {
  const lines: string[] = []
  const { setting } = await waitingRun()
  const deleted: number[] = []
  setting.receiver.onRequest = async (_, response) => {
    const path = `/api/v2/workspaces/${setting.workspaceId}`
    deleted.push((await app.request({ method: 'DELETE', url: path, token: setting.user.token })).status)
    response.end('ok')
  }

  const replica = await startReplica(app, url, pino({ level: 'error' }, { write: (line) => lines.push(line) }))
  await setting.receiver.received(1)
  await eventually(async () => deleted.length > 0)
  await replica[Symbol.asyncDispose]()

  expect(deleted).toEqual([204])
  expect(lines).toEqual([])
})
