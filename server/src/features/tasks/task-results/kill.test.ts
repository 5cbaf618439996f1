import { sql } from 'kysely'
import { expect, inject, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { databaseUrl } from '../../../testing/database.ts'
import type { Received } from '../../../testing/receiver.ts'
import { createRun } from '../../../testing/runs.ts'
import {
  addTask,
  callBack,
  createTaskSetting,
  eventually,
  readResult,
  readStages,
  runReaches,
  type TaskSetting,
} from '../../../testing/task-runs.ts'
import { startReplicaProcess } from './testing/replica.ts'

/** Server processes killed while requests are in flight, as by a power failure. */

const SETTINGS = { GROUNDSTATE_BASE_URL: 'https://groundstate.example', GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true' }
/** Creates runs and reads results; it delivers nothing. */
const app = await createTestApp(SETTINGS)
const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(app.db)
const url = databaseUrl(inject('postgres').adminUrl, rows[0]?.name ?? '')

async function settingWith(stages: number) {
  const setting = await createTaskSetting(app)
  for (let index = 0; index < stages; index += 1) await addTask(app, setting, { stages: ['pre_plan'] })
  return setting
}

async function resultIds(setting: TaskSetting, run: string): Promise<string[]> {
  const [stage] = await readStages(app, setting, run)
  return stage.relationships['task-results'].data.map(({ id }: { id: string }) => id)
}

const countOf = (requests: readonly Received[], id: string) =>
  requests.filter(({ payload }) => payload.task_result_id === id).length

const deadlineOf = async (setting: TaskSetting, id: string) =>
  (await readResult(app, setting, id)).attributes['deadline-at'] as string | null

test('a killed replica loses no request, repeats none that got a response, and keeps the deadlines', async () => {
  const first = await startReplicaProcess(app, url, SETTINGS)
  const setting = await settingWith(4)
  // Two requests get a response before the kill; two are in flight.
  let unanswered = 2
  setting.receiver.onRequest = (_, response) => {
    if (unanswered > 0) unanswered -= 1
    else response.end()
  }
  const run = await createRun(app, setting)
  await setting.receiver.received(4)
  const ids = await resultIds(setting, run)
  const responded = await eventually(async () => {
    const results = await Promise.all(ids.map(async (id) => readResult(app, setting, id)))
    const found = results.filter(({ attributes }) => attributes['delivered-at'] !== null).map(({ id }) => id as string)
    return found.length === 2 && found
  })
  const deadlines = await Promise.all(ids.map(async (id) => deadlineOf(setting, id)))

  await first.kill()
  // The leases expire.
  await sql`update task_results set lease_expires_at = lease_expires_at - interval '10 s'
     where lease_expires_at is not null`.execute(app.db)
  await startReplicaProcess(app, url, SETTINGS)
  await setting.receiver.received(6)
  await eventually(async () => {
    const results = await Promise.all(ids.map(async (id) => readResult(app, setting, id)))
    return results.every(({ attributes }) => attributes['delivered-at'] !== null)
  })

  expect(await Promise.all(ids.map(async (id) => deadlineOf(setting, id)))).toEqual(deadlines)
  const { requests } = setting.receiver
  expect(ids.map((id) => countOf(requests, id))).toEqual(ids.map((id) => (responded.includes(id) ? 1 : 2)))
  // A repeated request has the same body, so that receivers can recognise it.
  const repeated = ids.find((id) => !responded.includes(id))
  const bodies = requests.filter(({ payload }) => payload.task_result_id === repeated).map(({ body }) => body)
  expect(bodies[1]).toBe(bodies[0])

  for (const id of ids) {
    const { payload } = requests.findLast((request) => request.payload.task_result_id === id) as Received
    expect((await callBack(app, payload, { status: 'passed' })).status).toBe(200)
  }
  await runReaches(app, setting, { run, status: 'plan_queued' })
}, 60_000)
