import type { ServerResponse } from 'node:http'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { atEnd } from '../../../testing/cleanup.ts'
import { allowIdle } from '../../../testing/database.ts'
import { startReceiver } from '../../../testing/receiver.ts'
import { addWorkspace, createRun } from '../../../testing/runs.ts'
import {
  addTask,
  attachTask,
  createTask,
  createTaskSetting,
  eventually,
  readResult,
  type TaskSetting,
} from '../../../testing/task-runs.ts'
import { createPoolAgent, createPoolSetting, createPoolTask, takeTask } from '../task-requests/testing/pool-tasks.ts'
import { startTaskDeliveries } from './delivery-loop.ts'
import { multiplyRequest } from './testing/many-requests.ts'

const PLENTY = { all: 100, reserved: 0, perOrganization: 100, perReceiver: 100 }

async function createApp(connections: Partial<typeof PLENTY> = {}) {
  const app = await createTestApp()
  // Otherwise a poll would send, a little later, the requests that nothing woke the loop for.
  app.polls[Symbol.dispose]()
  const deliveries = startTaskDeliveries(app.as(), { ...PLENTY, ...connections })
  atEnd(() => deliveries[Symbol.asyncDispose]())
  return app
}

/** A receiver that holds requests open; `end` completes the oldest. */
async function startHangingReceiver() {
  const receiver = await startReceiver()
  const open: ServerResponse[] = []
  receiver.onRequest = (_, response) => {
    open.push(response)
    return new Promise(() => {})
  }
  atEnd(() => open.forEach((response) => response.end()))
  return { receiver, end: () => open.shift()?.end() }
}

/** An organization with `tasks` whose receiver never responds, each in `runs` runs. */
async function createHangingSetting(app: TestApp, { tasks = 1, runs = 1 }: { tasks?: number; runs?: number }) {
  const { receiver, end } = await startHangingReceiver()
  const setting = { ...(await createTaskSetting(app)), receiver }
  for (let index = 0; index < tasks; index += 1) await createRunsWithTask(app, setting, runs)
  return { ...setting, end, receives: (count: number) => eventually(async () => receiver.requests.length >= count) }
}

/** Creates a task, and runs that use it, each in a separate workspace. */
async function createRunsWithTask(app: TestApp, setting: TaskSetting, runs: number) {
  const task = await createTask(app, setting)
  for (let index = 0; index < runs; index += 1) {
    const workspace = await addWorkspace(app, setting)
    await attachTask(app, workspace, { task, stages: ['pre_plan'] })
    await createRun(app, workspace)
  }
}

/** Resolves when another organization, created now, has received a request. */
async function anotherReceives(app: TestApp) {
  const setting = await createTaskSetting(app)
  await createRunsWithTask(app, setting, 1)
  await setting.receiver.received(1)
}

test('unresponsive receivers do not delay other organizations, and their own requests are sent in turn', async () => {
  const app = await createApp({ all: 5, perOrganization: 3 })
  const hanging = await createHangingSetting(app, { tasks: 5 })
  await hanging.receives(3)

  await anotherReceives(app)
  const held = hanging.receiver.requests.length
  hanging.end()
  await hanging.receiver.received(4)

  expect(held).toBe(3)
})

test('an unresponsive receiver does not delay other tasks of its organization, and its own requests are sent in turn', async () => {
  const app = await createApp({ perOrganization: 3, perReceiver: 2 })
  const hanging = await createHangingSetting(app, { runs: 5 })
  await hanging.receives(2)
  const receiver = await startReceiver()

  await createRunsWithTask(app, { ...hanging, receiver }, 2)
  await receiver.received(2)
  const held = hanging.receiver.requests.length
  hanging.end()
  await hanging.receiver.received(3)

  expect(held).toBe(2)
})

test('the last connections are reserved for organizations without one', async () => {
  const app = await createApp({ all: 4, reserved: 2, perOrganization: 2 })
  const first = await createHangingSetting(app, { tasks: 2 })
  await first.receives(2)
  const second = await createHangingSetting(app, { tasks: 3 })
  await second.receives(1)

  await anotherReceives(app)
  const held = [first.receiver.requests.length, second.receiver.requests.length]
  first.end()
  first.end()
  await second.receiver.received(2)

  expect(held).toEqual([2, 1])
})

test('tens of thousands of due requests of one organization do not delay other organizations', async () => {
  const app = await createTestApp()
  const setting = await createTaskSetting(app)
  await createRunsWithTask(app, setting, 1)
  const tasks = await Promise.all(Array.from({ length: 20 }, () => createTask(app, setting)))
  await multiplyRequest(app, { tasks, count: 20_000 })
  await using _ = startTaskDeliveries(app.as())
  await setting.receiver.received(100)

  await anotherReceives(app)
  const sent = setting.receiver.requests.length

  expect(sent).toBeLessThan(10_000)
}, 60_000)

test('a request is leased to an agent while all connections are in use', async () => {
  const app = await createApp({ all: 1 })
  const setting = await createPoolSetting(app)
  const agent = await createPoolAgent(app, setting)
  const task = await createPoolTask(app, setting, { agent })
  await attachTask(app, setting, { task, stages: ['pre_plan'] })
  const hanging = await createHangingSetting(app, {})
  await hanging.receives(1)

  await createRun(app, setting)
  const { payload } = await takeTask(agent)

  expect(payload.workspace_id).toBe(setting.workspaceId)
})

test('a result that cannot be ended blocks no delivery', async () => {
  const app = await createApp()
  const late = await createTaskSetting(app)
  await addTask(app, late, { stages: ['pre_plan'] })
  const run = await createRun(app, late)
  const { payload } = await late.receiver.received(1)
  const other = await createTaskSetting(app)
  await addTask(app, other, { stages: ['pre_plan'] })

  await app.db.transaction().execute(async (tx) => {
    await allowIdle(tx)
    await sql`select from workspaces where id = ${late.workspaceId} for update`.execute(tx)
    app.clock.advance(600_000)
    await createRun(app, other)
    await other.receiver.received(1)
  })

  await eventually(async () => (await readResult(app, late, payload.task_result_id)).attributes.status === 'errored')
  expect(run).toBeDefined()
})
