import { getEventListeners } from 'node:events'
import { sql } from 'kysely'
import { pino } from 'pino'
import { expect, inject, test, vi } from 'vitest'
import { transact } from './db/db.ts'
import { createSignals } from './signals.ts'
import { createTestApp } from './testing/app.ts'
import { databaseUrl } from './testing/database.ts'
import { createReplica } from './testing/replica.ts'

const app = await createTestApp()

test('a topic that is published before the wait wakes it, once', async () => {
  using subscription = app.signals.subscribe('topic')
  using witness = app.signals.subscribe('topic')
  app.signals.publish(app.db, 'topic')
  expect(await witness.next({ timeoutMs: 5000 })).toBe(true)

  expect(await subscription.next({ timeoutMs: 0 })).toBe(true)
  expect(await subscription.next({ timeoutMs: 0 })).toBe(false)
})

test('an abort ends a wait', async () => {
  const abort = new AbortController()
  using subscription = app.signals.subscribe('topic')
  const waiting = subscription.next({ timeoutMs: 60_000, signal: abort.signal })

  abort.abort()

  expect(await waiting).toBe(false)
})

test('a completed wait leaves no listener on its abort signal', async () => {
  const { signal } = new AbortController()
  using subscription = app.signals.subscribe('topic')

  for (let wait = 0; wait < 3; wait += 1) await subscription.next({ timeoutMs: 1, signal })

  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('the signals of a transaction arrive after its commit', async () => {
  using subscription = app.signals.subscribe('committed')
  using other = app.signals.subscribe('other')

  await transact(app.as(), async (ctx) => {
    app.signals.publish(ctx.db, 'committed')
    app.signals.publish(app.db, 'other')
    await other.next({ timeoutMs: 5000 })
    expect(await subscription.next({ timeoutMs: 0 })).toBe(false)
  })

  expect(await subscription.next({ timeoutMs: 5000 })).toBe(true)
})

test('publishToOne with a ready local listener notifies this process alone, after the commit', async () => {
  const details: string[] = []
  const replica = await createReplica(app)
  using _ = app.signals.listen(
    'work',
    (detail) => details.push(detail),
    () => true,
  )
  using elsewhere = replica.app.signals.subscribe('work')
  using last = replica.app.signals.subscribe('last')

  const within = await transact(app.as(), async (ctx) => {
    ctx.signals.publishToOne(ctx.db, 'work')
    return details.length
  })
  app.signals.publish(app.db, 'last')

  expect(within).toBe(0)
  await expect.poll(() => details).toEqual([app.signals.id])
  await last.next({ timeoutMs: 5000 })
  expect(await elsewhere.next({ timeoutMs: 0 })).toBe(false)
})

test('publishToOne without a ready local listener notifies all processes', async () => {
  const replica = await createReplica(app)
  using elsewhere = replica.app.signals.subscribe('work')
  using _ = app.signals.listen(
    'work',
    () => {},
    () => false,
  )

  await transact(app.as(), async (ctx) => ctx.signals.publishToOne(ctx.db, 'work'))

  expect(await elsewhere.next({ timeoutMs: 5000 })).toBe(true)
})

test('publishToOne in a failed transaction sends nothing', async () => {
  const details: string[] = []
  using _ = app.signals.listen(
    'failed-work',
    (detail) => details.push(detail),
    () => true,
  )
  using next = app.signals.subscribe('next')

  await transact(app.as(), async (ctx) => {
    ctx.signals.publishToOne(ctx.db, 'failed-work')
    throw new Error('it fails')
  }).catch(() => {})
  app.signals.publish(app.db, 'next')

  expect(await next.next({ timeoutMs: 5000 })).toBe(true)
  expect(details).toEqual([])
})

test('deferred signals are sent before later ones', async () => {
  const details: string[] = []
  using _ = app.signals.listen('first', (detail) => details.push(detail))
  using second = app.signals.subscribe('second')

  app.signals.publishSoon(app.db, 'first change')
  app.signals.publish(app.db, 'second')

  expect(await second.next({ timeoutMs: 5000 })).toBe(true)
  expect(details).toEqual(['change'])
})

test('debounced signals do not wait for the next check of the connection', async () => {
  using subscription = app.signals.subscribe('alone')

  app.signals.publishSoon(app.db, 'alone')

  expect(await subscription.next({ timeoutMs: 5000 })).toBe(true)
})

test('signals published while the connection is down arrive after the reconnect', async () => {
  using first = app.signals.subscribe('first')
  using second = app.signals.subscribe('second')
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
             where application_name = ${`groundstate-signals ${app.signals.id}`}`.execute(app.db)

  app.signals.publish(app.db, 'first')
  await app.signals.wait('never', { timeoutMs: 50 })
  app.signals.publish(app.db, 'second')

  expect(await first.next({ timeoutMs: 5000 })).toBe(true)
  expect(await second.next({ timeoutMs: 5000 })).toBe(true)
})

test('a server that stops causes no gap for the others', async () => {
  const replica = await createReplica(app)
  let gaps = 0
  using _ = app.signals.onGap(() => (gaps += 1))
  using left = app.signals.subscribe('last-words')
  // The poll has seen it.
  await app.signals.wait('never', { timeoutMs: 2500 })

  replica.app.signals.publish(replica.app.db, 'last-words')
  await replica.app[Symbol.asyncDispose]()
  await app.signals.wait('never', { timeoutMs: 2500 })

  expect([await left.next({ timeoutMs: 0 }), gaps]).toEqual([true, 0])
})

// Last, since this server cannot announce its shutdown, which the others notice as a gap.
test('signals that the database rejects are logged and retried after a second', async () => {
  const role = `mute_${app.newId('role').slice(-8).toLowerCase()}`
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(app.db)
  await sql`revoke execute on function pg_notify(text, text) from public`.execute(app.db)
  await sql`create role ${sql.raw(role)} login`.execute(app.db)
  const url = new URL(databaseUrl(inject('postgres').adminUrl, rows[0]?.name ?? ''))
  url.username = role
  const refusedAt: number[] = []
  const log = pino({}, { write: () => void refusedAt.push(performance.now()) })
  const mute = await createSignals(url.href, { id: 'mute', polls: app.polls, log })

  mute.publish(app.db, 'anything')

  await vi.waitFor(() => expect(refusedAt.length).toBeGreaterThan(1), { timeout: 5000 })
  const [first = 0, second = 0] = refusedAt
  expect(second - first).toBeGreaterThan(900)
  await mute[Symbol.asyncDispose]()
  await sql`grant execute on function pg_notify(text, text) to public`.execute(app.db)
  await sql`drop role ${sql.raw(role)}`.execute(app.db)
})
