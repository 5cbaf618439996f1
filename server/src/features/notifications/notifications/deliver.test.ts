import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { hmac, startReceiver } from '../../../testing/receiver.ts'
import { actOnRun, addWorkspace, createRun } from '../../../testing/runs.ts'
import { eventually } from '../../../testing/task-runs.ts'
import { expireNotifications } from './jobs.ts'
import {
  type NotifiedSetting,
  configure,
  createNotifiedSetting,
  listNotifications,
  payloads,
  startSending,
  takeJob,
  triggersOf,
} from './testing/notified.ts'

const app = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true' })
startSending(app)
const DAY_MS = 86_400_000
const api = async (setting: Pick<NotifiedSetting, 'user'>, method: 'GET' | 'POST' | 'DELETE', url: string) =>
  app.request({ method, url: `/api/v2${url}`, token: setting.user.token })

/** Waits until the latest notification of a configuration has this status. */
async function latest(setting: NotifiedSetting, id: string, status: string) {
  return eventually(async () => {
    const [notification] = await listNotifications(app, setting, id)
    return notification?.attributes.status === status && notification
  })
}

const attempts = async (setting: NotifiedSetting, notification: { id: string }) =>
  (await api(setting, 'GET', `/notifications/${notification.id}/deliveries`)).json().data

test('any 2xx delivers a notification once, and its log has neither signature nor path', async () => {
  const setting = await createNotifiedSetting(app)
  const id = await configure(app, setting, { token: 'key', triggers: ['run:created'] })
  setting.receiver.onRequest = (_, response) => response.writeHead(202, { 'set-cookie': 'a=b' }).end('thanks, key')

  await createRun(app, setting)
  const sent = await setting.receiver.received(1)
  const notification = await latest(setting, id, 'delivered')

  expect(sent.headers['x-tfe-notification-signature']).toBe(hmac(sent.body, 'key'))
  expect(notification.attributes).toMatchObject({
    trigger: 'run:created',
    message: 'Run Created',
    attempts: 1,
    error: null,
    'workspace-name': setting.workspaceName,
    permissions: { 'can-redeliver': true },
  })
  const [attempt] = await attempts(setting, notification)
  expect(attempt.attributes).toMatchObject({
    attempt: 1,
    status: 'succeeded',
    request: { method: 'POST', url: `${new URL(setting.receiver.url).origin}/…`, body: sent.body },
    response: { status: 202, body: 'thanks, [redacted]', headers: { 'set-cookie': '[redacted]' } },
    error: null,
  })
  expect(JSON.stringify(attempt)).not.toContain(sent.headers['x-tfe-notification-signature'])
  const configuration = await api(setting, 'GET', `/notification-configurations/${id}`)
  expect(configuration.json().data.attributes['last-notification']).toMatchObject({ status: 'delivered' })
})

test('later notifications of a run wait until the earlier one was delivered', async () => {
  const setting = await createNotifiedSetting(app)
  const { receiver } = setting
  const id = await configure(app, setting)
  let isBroken = true
  receiver.onRequest = (_, response) => response.writeHead(isBroken ? 503 : 200).end()

  const run = await createRun(app, setting)
  await receiver.received(1)
  await (await takeJob(setting, run)).finish({ hasChanges: true })
  await receiver.received(2)
  isBroken = false
  app.clock.advance(120_000)
  await eventually(async () => (await listNotifications(app, setting, id, '?filter[status]=delivered')).length === 3)

  const sent = triggersOf(receiver, run)
  expect(sent.slice(-2)).toEqual(['run:planning planning', 'run:needs_attention planned'])
  expect(new Set(sent.slice(0, -2))).toEqual(new Set(['run:created pending']))
})

test('a run is not delayed by the notifications of another', async () => {
  const setting = await createNotifiedSetting(app)
  const other = await addWorkspace(app, setting)
  const { receiver } = setting
  const relationships = {}
  await configure(app, setting, { triggers: ['run:created'], relationships })
  await configure(app, { ...setting, workspaceId: other.workspaceId }, { triggers: ['run:created'] })
  const held = await createRun(app, setting)
  receiver.onRequest = ({ payload }, response) => {
    if (payload.run_id !== held) response.end()
  }
  await receiver.received(1)

  const free = await createRun(app, other)
  await receiver.received(2)

  expect(payloads(receiver).map(({ run_id }) => run_id)).toEqual([held, free])
})

test('a receiver that hangs delays no other receiver, and its own notifications take turns', async () => {
  const small = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true' })
  startSending(small, { all: 3, reserved: 1, perOrganization: 2, perReceiver: 1 })
  const setting = await createNotifiedSetting(small)
  const hanging = await startReceiver()
  hanging.onRequest = () => {}
  await configure(small, setting, { enabled: false, url: hanging.url, triggers: ['run:created'] })
  await small.db.updateTable('notification_configurations').set({ enabled: true }).execute()
  await configure(small, setting, { triggers: ['run:created'] })

  for (let index = 0; index < 5; index += 1) await createRun(small, setting)
  await setting.receiver.received(5)

  expect(hanging.requests).toHaveLength(1)
})

test('a notification is given up after a day, and the next one gets its chance', async () => {
  const setting = await createNotifiedSetting(app)
  const { receiver } = setting
  const id = await configure(app, setting, { triggers: ['run:created', 'run:planning'] })
  receiver.onRequest = ({ payload }, response) => {
    const { notifications } = payload as unknown as { notifications: { trigger: string }[] }
    response.writeHead(notifications[0]?.trigger === 'run:created' ? 500 : 200).end()
  }

  const run = await createRun(app, setting)
  await receiver.received(1)
  await (await takeJob(setting, run)).finish()
  app.clock.advance(DAY_MS)
  const [planning, created] = await eventually(async () => {
    const list = await listNotifications(app, setting, id)
    return list.every(({ attributes }: any) => attributes.status !== 'pending') && list
  })

  expect(created.attributes).toMatchObject({ status: 'failed', 'next-attempt-at': null })
  expect(created.attributes.error).toContain('the response was 500')
  expect(planning.attributes.status).toBe('delivered')
})

test('a failed notification can be sent again, but not with a disabled configuration', async () => {
  const setting = await createNotifiedSetting(app)
  const { receiver } = setting
  const id = await configure(app, setting, { triggers: ['run:created'] })
  receiver.onRequest = (_, response) => response.writeHead(500).end()
  await createRun(app, setting)
  await receiver.received(1)
  app.clock.advance(2 * DAY_MS)
  const failed = await latest(setting, id, 'failed')
  const read = Promise.withResolvers<void>()
  receiver.onRequest = async (_, response) => {
    await read.promise
    response.end()
  }

  const again = await api(setting, 'POST', `/notifications/${failed.id}/actions/redeliver`)
  read.resolve()
  await latest(setting, id, 'delivered')
  await api(setting, 'POST', `/notification-configurations/${id}/actions/disable`)
  const refused = await api(setting, 'POST', `/notifications/${failed.id}/actions/redeliver`)

  expect(again.json().data.attributes.status).toBe('pending')
  expect(refused.status).toBe(409)
})

test('disabling a configuration cancels its queued notifications, deleting it removes them', async () => {
  const setting = await createNotifiedSetting(app)
  const { receiver } = setting
  const disabled = await configure(app, setting, { triggers: ['run:created'] })
  const deleted = await configure(app, setting, { triggers: ['run:created'] })
  receiver.onRequest = (_, response) => response.writeHead(500).end()
  await createRun(app, setting)
  await receiver.received(2)

  await api(setting, 'POST', `/notification-configurations/${disabled}/actions/disable`)
  await api(setting, 'DELETE', `/notification-configurations/${deleted}`)
  receiver.onRequest = undefined
  const sent = receiver.requests.length
  app.clock.advance(60_000)
  const other = await configure(app, setting, { triggers: ['run:errored'] })
  const run = await createRun(app, setting)
  await actOnRun(app, setting, { run, action: 'cancel' })
  await latest(setting, other, 'delivered')

  expect((await latest(setting, disabled, 'canceled')).attributes.error).toContain('disabled')
  expect(triggersOf({ requests: receiver.requests.slice(sent) })).toEqual(['run:errored canceled'])
})

test('responses from private addresses are withheld from all but site administrators', async () => {
  const setting = await createNotifiedSetting(app)
  const id = await configure(app, setting, { triggers: ['run:created'] })
  setting.receiver.onRequest = (_, response) => response.end('internal')
  await createRun(app, setting)
  const notification = await latest(setting, id, 'delivered')
  await app.db.updateTable('users').set({ is_site_admin: false }).where('id', '=', setting.user.id).execute()

  const [attempt] = await attempts(setting, notification)
  const configuration = await api(setting, 'GET', `/notification-configurations/${id}`)

  expect(attempt.attributes.response).toMatchObject({ status: 200, body: '', headers: {}, 'is-withheld': true })
  expect(configuration.json().data.attributes['delivery-responses']).toMatchObject([{ code: '200', body: '' }])
})

test('strangers see no notification, and an unknown status is refused', async () => {
  const setting = await createNotifiedSetting(app)
  const id = await configure(app, setting, { triggers: ['run:created'] })
  await createRun(app, setting)
  const notification = await latest(setting, id, 'delivered')
  const stranger = { user: await createUser(app) }

  expect((await api(stranger, 'GET', `/notifications/${notification.id}`)).status).toBe(404)
  expect((await api(stranger, 'GET', `/notifications/${notification.id}/deliveries`)).status).toBe(404)
  expect((await api(stranger, 'POST', `/notifications/${notification.id}/actions/redeliver`)).status).toBe(404)
  expect((await api(setting, 'GET', '/notifications/ntf-unknown')).status).toBe(404)
  const unknown = await api(setting, 'GET', `/notification-configurations/${id}/notifications?filter[status]=lost`)
  expect(unknown.json().errors[0].source.parameter).toBe('filter[status]')
})

test('notifications expire with their deliveries, and those of deleted workspaces with their configurations', async () => {
  const setting = await createNotifiedSetting(app)
  const id = await configure(app, setting, { triggers: ['run:created'] })
  await createRun(app, setting)
  await latest(setting, id, 'delivered')

  app.clock.advance(31 * DAY_MS)
  await expireNotifications(app.as(), new AbortController().signal)

  expect(await listNotifications(app, setting, id)).toEqual([])
})
