import { sql } from 'kysely'
import { expect, inject, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { databaseUrl } from '../../../testing/database.ts'
import { createRun } from '../../../testing/runs.ts'
import { eventually } from '../../../testing/task-runs.ts'
import { startReplicaProcess } from '../../tasks/task-results/testing/replica.ts'
import { configure, createNotifiedSetting, listNotifications, payloads, takeJob } from './testing/notified.ts'

/** Server processes killed between an event and its notification, and while notifications are in flight, as by a power failure. */

const SETTINGS = { GROUNDSTATE_BASE_URL: 'https://groundstate.example', GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true' }
/** Creates runs; it sends nothing. */
const app = await createTestApp(SETTINGS)
const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(app.db)
const url = databaseUrl(inject('postgres').adminUrl, rows[0]?.name ?? '')

test('every configuration is notified of every event in order, and never again after its first 2xx', async () => {
  const setting = await createNotifiedSetting(app)
  const { receiver } = setting
  const [acknowledged, held] = [await configure(app, setting), await configure(app, setting)]
  const statuses = new Map<string, string[]>()
  // The first request for one of the configurations gets no response before the kill.
  let isHeld = true
  receiver.onRequest = ({ payload }, response) => {
    const { notification_configuration_id: id, notifications } = payload as unknown as {
      notification_configuration_id: string
      notifications: { run_status: string }[]
    }
    if (id === held && isHeld) return
    statuses.set(id, [...(statuses.get(id) ?? []), String(notifications[0]?.run_status)])
    response.end()
  }
  const first = await startReplicaProcess(app, url, SETTINGS)

  const run = await createRun(app, setting)
  await receiver.received(2)
  await eventually(
    async () => (await listNotifications(app, setting, acknowledged, '?filter[status]=delivered')).length === 1,
  )
  await first.kill()
  // These events happen while no process sends.
  await (await takeJob(setting, run)).finish({ hasChanges: true })
  isHeld = false
  await sql`update notifications set lease_expires_at = lease_expires_at - interval '10 s'
     where lease_expires_at is not null`.execute(app.db)
  await startReplicaProcess(app, url, SETTINGS)
  for (const id of [acknowledged, held])
    await eventually(async () => (await listNotifications(app, setting, id, '?filter[status]=delivered')).length === 3)

  expect(statuses.get(acknowledged)).toEqual(['pending', 'planning', 'planned'])
  expect(statuses.get(held)).toEqual(['pending', 'planning', 'planned'])
  const repeated = receiver.requests.filter(
    (_, index) =>
      payloads(receiver)[index]?.notification_configuration_id === held &&
      payloads(receiver)[index]?.notifications[0]?.run_status === 'pending',
  )
  // A repeated request has the same body, so that receivers can recognise it.
  expect(repeated).toHaveLength(2)
  expect(repeated[1]?.body).toBe(repeated[0]?.body)
}, 120_000)
