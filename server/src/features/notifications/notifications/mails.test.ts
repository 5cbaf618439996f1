import { type Socket, createServer } from 'node:net'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { type TestApp, createTestApp } from '../../../testing/app.ts'
import { atEnd } from '../../../testing/cleanup.ts'
import { startMailServer } from '../../../testing/mail-server.ts'
import { freePort } from '../../../testing/ports.ts'
import { addWorkspace, createRun } from '../../../testing/runs.ts'
import { eventually } from '../../../testing/task-runs.ts'
import { startNotificationDeliveries } from './delivery-loop.ts'
import {
  type NotifiedSetting,
  configure,
  createNotifiedSetting,
  listNotifications,
  startSending,
  takeJob,
} from './testing/notified.ts'

const HALF_HOUR_MS = 1_800_000
const port = await freePort()
const app = await mailApp(port)
const mail = await startMailServer(port)
const shared = await createNotifiedSetting(app)
let count = 0

async function mailApp(smtpPort: number) {
  return createTestApp({
    GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true',
    GROUNDSTATE_SMTP_URL: `smtp://127.0.0.1:${smtpPort}`,
    GROUNDSTATE_MAIL_FROM: 'groundstate@example.com',
    GROUNDSTATE_NOTIFICATION_EMAIL_ADDRESSES: 'allow',
  })
}

/** A configuration of a new workspace with these addresses, each of which is made unique. */
async function mailsTo(names: readonly string[], triggers = ['run:created']) {
  count += 1
  const setting = { ...shared, ...(await addWorkspace(app, shared)) }
  const addresses = names.map((name) => (name.includes('@') ? name : `${name}-${count}@example.com`))
  const attributes = { name: 'mails', 'destination-type': 'email', triggers, 'email-addresses': addresses }
  return { setting, id: await configure(app, setting, attributes), addresses }
}

/** The latest notification of a configuration, once it matches. */
async function latest(
  id: string,
  matches: (attributes: any) => boolean,
  from: [TestApp, NotifiedSetting] = [app, shared],
) {
  return eventually(async () => {
    const [notification] = await listNotifications(...from, id)
    return notification && matches(notification.attributes) && notification.attributes
  })
}

const received = (addresses: readonly string[]) => addresses.map((address) => mail.to(address).length)

test('a mail that all recipients got before the process ended is delivered without another mail', async () => {
  const { setting, id, addresses } = await mailsTo(['one'])
  await createRun(app, setting)
  await sql`update notifications set delivered_to = ${addresses}, attempts = 1 where configuration_id = ${id}`.execute(
    app.db,
  )

  startSending(app)
  const notification = await latest(id, ({ status }) => status !== 'pending')

  expect(notification).toMatchObject({ status: 'delivered', error: null, 'delivered-at': expect.any(String) })
  expect(received(addresses)).toEqual([0])
})

test('a mail that all recipients refuse for good fails at once, and the next one of the run is sent', async () => {
  const { setting, id } = await mailsTo(['nobody@nowhere.example'], ['run:created', 'run:planning'])
  startSending(app)

  const run = await createRun(app, setting)
  await (await takeJob(setting, run)).finish()
  const [planning, created] = await eventually(async () => {
    const list = await listNotifications(app, setting, id)
    return list.length === 2 && list.every(({ attributes }: any) => attributes.status !== 'pending') && list
  })

  const refused = { status: 'failed', attempts: 1, error: expect.stringContaining('nobody@nowhere.example') }
  expect([planning.attributes, created.attributes]).toMatchObject([refused, refused])
})

test('a recipient who is refused for now does not delay the others, and is the only one who is tried again', async () => {
  const { setting, id, addresses } = await mailsTo(['a', 'full', 'spam', 'z'])
  startSending(app)
  const tried: string[] = []
  let isFull = true
  mail.refuses.recipient = (address) => {
    tried.push(address)
    return isFull && address === addresses[1] ? 452 : undefined
  }
  mail.refuses.content = (address) => (address === addresses[2] ? 554 : undefined)

  await createRun(app, setting)
  const waiting = await latest(id, ({ error }) => error !== null)
  const before = received(addresses)
  isFull = false
  app.clock.advance(HALF_HOUR_MS)
  const delivered = await latest(id, ({ status }) => status === 'delivered')
  mail.refuses = {}

  expect(delivered.error).toBe(`the mail server refused these recipients: ${addresses[2]}`)
  expect(waiting).toMatchObject({ status: 'pending', error: expect.stringContaining(addresses[1] ?? '') })
  expect(before).toEqual([1, 0, 0, 1])
  expect(received(addresses)).toEqual([1, 1, 0, 1])
  expect(tried.slice(4)).toEqual([addresses[1]])
})

test('a refused sender is a problem of the server that a retry may solve', async () => {
  const { setting, id, addresses } = await mailsTo(['one'])
  mail.refuses = { sender: () => 553 }
  startSending(app)

  await createRun(app, setting)
  const waiting = await latest(id, ({ error }) => error !== null)
  mail.refuses = {}
  app.clock.advance(HALF_HOUR_MS)
  await latest(id, ({ status }) => status === 'delivered')

  expect(waiting.error).toContain('the mail server refused the sender')
  expect(received(addresses)).toEqual([1])
})

test('e-mails share the limits of their organization, and end with the process', async () => {
  const sockets = new Set<Socket>()
  const silent = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  const silentPort = await freePort()
  await new Promise<void>((resolve) => silent.listen(silentPort, '127.0.0.1', resolve))
  atEnd(async () => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  const other = await mailApp(silentPort)
  const place = await createNotifiedSetting(other)
  const id = await configure(other, place, { triggers: ['run:created'] })
  const { id: organization } = await other.db
    .selectFrom('organizations')
    .select('id')
    .where('name', '=', place.organization)
    .executeTakeFirstOrThrow()
  const now = other.clock.now()
  await sql`insert into users (id, username, email, created_at, updated_at)
    select 'user-x' || i, 'x' || i, 'x' || i || '@e.example', ${now}, ${now} from generate_series(1, 50) i`.execute(
    other.db,
  )
  await sql`insert into organization_memberships (id, organization_id, user_id, email, status, created_at)
    select 'ou-x' || i, ${organization}, 'user-x' || i, 'x' || i || '@e.example', 'active', ${now} from generate_series(1, 50) i`.execute(
    other.db,
  )
  await sql`insert into team_members (team_id, user_id, created_at)
    select t.id, 'user-x' || i, ${now} from teams t, generate_series(1, 50) i
     where t.organization_id = ${organization} and t.is_owners`.execute(other.db)
  await sql`insert into notification_settings (user_id, own_run_triggers)
    select 'user-x' || i, '{run:created}' from generate_series(1, 50) i`.execute(other.db)
  const facts = { message: 'Run Created', workspace_name: 'w', organization_name: 'o', run_message: 'm' }
  await sql`insert into notifications (id, user_id, receiver_id, organization_id, workspace_id, run_id, trigger, run_status, facts,
        delivery_due_at, deadline_at, created_at)
    select 'ntf-x' || i, 'user-x' || i, 'mail:' || ${organization}, ${organization}, ${place.workspaceId}, 'run-x' || i, 'run:created',
           'pending', ${JSON.stringify(facts)}::jsonb, ${now}, ${new Date(now.getTime() + 86_400_000)}, ${now}
      from generate_series(1, 50) i`.execute(other.db)

  const deliveries = startNotificationDeliveries(other.as())
  await eventually(async () => sockets.size >= 4)
  await createRun(other, place)
  await place.receiver.received(1)
  await latest(id, ({ status }) => status === 'delivered', [other, place])
  const open = sockets.size
  await deliveries[Symbol.asyncDispose]()

  expect(open).toBe(4)
})
