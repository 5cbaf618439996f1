import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createRun } from '../../../testing/runs.ts'
import { eventually } from '../../../testing/task-runs.ts'
import {
  type NotifiedSetting,
  configure,
  createNotifiedSetting,
  listNotifications,
  payloads,
  startSending,
  takeJob,
} from './testing/notified.ts'

const app = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true' })
startSending(app)

const api = async (setting: NotifiedSetting, method: 'GET' | 'POST' | 'PATCH', url: string, attributes?: object) =>
  app.request({
    method,
    url: `/api/v2${url}`,
    token: setting.user.token,
    ...(attributes && { body: { data: { type: 'notification-configurations', attributes } } }),
  })

async function latest(setting: NotifiedSetting, id: string, matches: (attributes: any) => boolean) {
  return eventually(async () => {
    const [notification] = await listNotifications(app, setting, id)
    return notification && matches(notification.attributes) && notification
  })
}

/** Executes a statement in a transaction that stays open until `release`. */
async function held(statement: ReturnType<typeof sql>) {
  const [gate, ready] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const done = app.db.transaction().execute(async (tx) => {
    await statement.execute(tx)
    ready.resolve()
    await gate.promise
  })
  await ready.promise
  return {
    async release() {
      gate.resolve()
      await done
    },
  }
}

const untilBlocked = async () =>
  eventually(async () => {
    const { rows } = await sql`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(app.db)
    return rows.length > 0
  })

test('a configuration that is deleted meanwhile fails neither the creation of a run nor its end', async () => {
  const setting = await createNotifiedSetting(app)
  const [first, second] = [await configure(app, setting), await configure(app, setting)]

  const deleting = await held(sql`delete from notification_configurations where id = ${first}`)
  const creating = createRun(app, setting)
  await untilBlocked()
  await deleting.release()
  const job = await takeJob(setting, await creating)
  const deletingLast = await held(sql`delete from notification_configurations where id = ${second}`)
  const finishing = job.finish({ hasChanges: true })
  await untilBlocked()
  await deletingLast.release()

  await expect(finishing).resolves.not.toThrow()
})

test('a configuration that is disabled while an event commits sends nothing', async () => {
  const setting = await createNotifiedSetting(app)
  const id = await configure(app, setting, { triggers: ['run:created'] })

  const disabling = await held(sql`update notification_configurations set enabled = false where id = ${id}`)
  const creating = createRun(app, setting)
  await untilBlocked()
  await disabling.release()
  await creating

  expect(await listNotifications(app, setting, id)).toEqual([])
})

test('a due notification of a disabled configuration is canceled, not sent', async () => {
  const setting = await createNotifiedSetting(app)
  const id = await configure(app, setting, { triggers: ['run:created'] })
  setting.receiver.onRequest = (_, response) => response.writeHead(500).end()
  await createRun(app, setting)
  await latest(setting, id, ({ error }) => error !== null)

  await sql`update notification_configurations set enabled = false where id = ${id}`.execute(app.db)
  app.clock.advance(60_000)
  const notification = await latest(setting, id, ({ status }) => status === 'canceled')

  expect(notification.attributes.error).toContain('disabled')
  expect(setting.receiver.requests).toHaveLength(1)
})

test('a notification that is canceled during an attempt keeps the reason', async () => {
  const setting = await createNotifiedSetting(app)
  const id = await configure(app, setting, { triggers: ['run:created'] })
  const sending = Promise.withResolvers<() => void>()
  setting.receiver.onRequest = (_, response) => sending.resolve(() => response.writeHead(500).end())

  await createRun(app, setting)
  const respond = await sending.promise
  await api(setting, 'POST', `/notification-configurations/${id}/actions/disable`)
  respond()
  const [notification] = await listNotifications(app, setting, id)
  const log = `/notifications/${notification.id}/deliveries`
  await eventually(async () => (await api(setting, 'GET', log)).json().data.length === 1)

  const { attributes } = await latest(setting, id, () => true)
  expect(attributes).toMatchObject({ status: 'canceled', error: expect.stringContaining('disabled') })
})

test('an update changes only what it names: it does not undo one during its verification', async () => {
  const setting = await createNotifiedSetting(app)
  const { receiver } = setting
  const id = await configure(app, setting)
  const verifying = Promise.withResolvers<() => void>()
  receiver.onRequest = (_, response) => verifying.resolve(() => response.end())

  const renaming = api(setting, 'PATCH', `/notification-configurations/${id}`, { name: 'renamed' })
  const respond = await verifying.promise
  const disabled = await api(setting, 'POST', `/notification-configurations/${id}/actions/disable`)
  respond()
  const renamed = await renaming

  expect([disabled.status, renamed.status]).toEqual([200, 200])
  expect(renamed.json().data.attributes).toMatchObject({ name: 'renamed', enabled: false })
})

test('an update is refused if another one changed the URL during its verification', async () => {
  const setting = await createNotifiedSetting(app)
  const { receiver } = setting
  const id = await configure(app, setting)
  const verifying = Promise.withResolvers<() => void>()
  receiver.onRequest = (_, response) => verifying.resolve(() => response.end())

  const signing = api(setting, 'PATCH', `/notification-configurations/${id}`, { token: 'key' })
  const respond = await verifying.promise
  receiver.onRequest = undefined
  const moved = await api(setting, 'PATCH', `/notification-configurations/${id}`, { url: `${receiver.url}/other` })
  respond()
  const signed = await signing

  expect([moved.status, signed.status]).toEqual([200, 409])
  expect(signed.json().errors[0].detail).toContain('changed')
})

test('a delivery counts even if the process had lost the lease', async () => {
  const setting = await createNotifiedSetting(app)
  const id = await configure(app, setting, { triggers: ['run:created'] })
  setting.receiver.onRequest = async (_, response) => {
    // Another process took over after a suspension, and died.
    await sql`update notifications set attempts = attempts + 1, lease_expires_at = ${app.clock.now()}::timestamptz + interval '5 s'
       where configuration_id = ${id}`.execute(app.db)
    response.end()
  }

  await createRun(app, setting)
  const { attributes } = await latest(setting, id, ({ status }) => status === 'delivered')

  expect(attributes).toMatchObject({ error: null, 'next-attempt-at': null })
  expect(setting.receiver.requests).toHaveLength(1)
})

test('a process that was suspended for longer than its lease does not send any more', async () => {
  const setting = await createNotifiedSetting(app)
  const { receiver } = setting
  const id = await configure(app, setting, { triggers: ['run:created'] })
  receiver.onRequest = (_, response) => response.writeHead(500).end()
  const first = await createRun(app, setting)
  await latest(setting, id, ({ error }) => error !== null)
  receiver.onRequest = undefined

  // It stops between the claim and the request.
  const suspended = await held(sql`lock table variables in access exclusive mode`)
  app.clock.advance(60_000)
  await untilBlocked()
  await sql`update notifications set attempts = attempts + 1, status = 'delivered', delivered_at = now(), delivery_due_at = null,
      lease_expires_at = null where configuration_id = ${id}`.execute(app.db)
  app.clock.advance(11_000)
  await suspended.release()
  const second = await createRun(app, setting)
  await latest(setting, id, ({ status }) => status === 'delivered')

  expect(payloads(receiver).map(({ run_id }) => run_id)).toEqual([first, second])
})

test('a destination that cannot be decrypted is an attempt that failed, with backoff', async () => {
  const setting = await createNotifiedSetting(app)
  const id = await configure(app, setting, { triggers: ['run:created'] })
  await sql`update notification_configurations set url = '\\x00'::bytea where id = ${id}`.execute(app.db)

  await createRun(app, setting)
  const rows = await eventually(async () => {
    const found = await app.db
      .selectFrom('notifications')
      .select(['status', 'attempts', 'error', 'lease_expires_at', 'delivery_due_at'])
      .where('configuration_id', '=', id)
      .execute()
    return found[0]?.error != null && found
  })

  expect(rows).toMatchObject([
    { status: 'pending', attempts: 1, lease_expires_at: null, error: expect.stringContaining('cannot be decrypted') },
  ])
  expect(Number(rows[0]?.delivery_due_at)).toBeGreaterThan(Number(app.clock.now()))
})

test('the log shows no part of the URL that the receiver repeats', async () => {
  const setting = await createNotifiedSetting(app)
  const path = '/services/T%20x/s3cret-path-of-a-channel?sig=a%2Fb&v=1'
  const id = await configure(app, setting, {
    triggers: ['run:created'],
    url: `${new URL(setting.receiver.url).origin}${path}`,
  })
  const echoes = [path, decodeURIComponent(path), path.replaceAll('&', '&amp;'), 's3cret-path-of-a-channel']
  setting.receiver.onRequest = (_, response) => response.end(`Cannot POST ${echoes.join(' or ')}`)

  await createRun(app, setting)
  const { id: notification } = await latest(setting, id, ({ status }) => status === 'delivered')
  const log = await api(setting, 'GET', `/notifications/${notification}/deliveries`)

  expect(log.json().data[0].attributes.response.body).toContain('Cannot POST [redacted]')
  expect(log.text).not.toMatch(/s3cret|sig=/)
})
