import type { ServerResponse } from 'node:http'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { whenFileEnds } from '../../../testing/cleanup.ts'
import { createRun } from '../../../testing/runs.ts'
import { addTask, createTaskSetting, eventually, readResult } from '../../../testing/task-runs.ts'
import { startTaskDeliveries } from './delivery-loop.ts'

const app = await createTestApp()
const deliveries = startTaskDeliveries(app.as(), { all: 5, perOrganization: 3 })
whenFileEnds(() => deliveries[Symbol.asyncDispose]())

const within = async <T>(work: Promise<T>) => {
  const started = performance.now()
  await work
  return performance.now() - started
}

/** An organization whose receiver answers none of its requests. */
async function createHangingSetting(tasks: number) {
  const setting = await createTaskSetting(app)
  const open: ServerResponse[] = []
  setting.receiver.onRequest = (_, response) => {
    open.push(response)
    return new Promise(() => {})
  }
  for (let index = 0; index < tasks; index += 1) await addTask(app, setting, { stages: ['pre_plan'] })
  whenFileEnds(() => open.forEach((response) => response.end()))
  return { ...setting, open }
}

test('receivers of one organization that do not answer hold up no other organization, and their own go on in turn', async () => {
  const hanging = await createHangingSetting(8)
  const other = await createTaskSetting(app)
  await addTask(app, other, { stages: ['pre_plan'] })
  await createRun(app, hanging)
  await eventually(async () => hanging.receiver.requests.length >= 3)

  await createRun(app, other)
  const took = await within(other.receiver.received(1))
  const held = hanging.receiver.requests.length
  hanging.open[0]?.end()
  const next = await within(hanging.receiver.received(4))

  expect(took).toBeLessThan(1000)
  expect(held).toBe(3)
  expect(next).toBeLessThan(900)
})

test('a result that cannot be ended now holds up no delivery', async () => {
  const late = await createTaskSetting(app)
  await addTask(app, late, { stages: ['pre_plan'] })
  const run = await createRun(app, late)
  const { payload } = await late.receiver.received(1)
  const other = await createTaskSetting(app)
  await addTask(app, other, { stages: ['pre_plan'] })

  const took = await app.db.transaction().execute(async (tx) => {
    await sql`select from workspaces where id = ${late.workspaceId} for update`.execute(tx)
    app.clock.advance(600_000)
    await createRun(app, other)
    return within(other.receiver.received(1))
  })

  expect(took).toBeLessThan(1000)
  await eventually(async () => (await readResult(app, late, payload.task_result_id)).attributes.status === 'errored')
  expect(run).toBeDefined()
})
