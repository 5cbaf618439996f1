import { getEventListeners } from 'node:events'
import { sql } from 'kysely'
import pg from 'pg'
import { expect, test } from 'vitest'
import { type Db, transact } from './db/db.ts'
import { publishingSoon } from './signals.ts'
import { createTestApp } from './testing/app.ts'

let databaseUrl = ''
const app = await createTestApp({}, { reach: async (url) => (databaseUrl = url) })

test('a topic that is published before the wait wakes it, once', async () => {
  using subscription = app.signals.subscribe('topic')
  using witness = app.signals.subscribe('topic')
  await app.signals.publish(app.db, 'topic')
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

test('a wait that is over leaves no listener on its abort signal', async () => {
  const { signal } = new AbortController()
  using subscription = app.signals.subscribe('topic')

  for (let wait = 0; wait < 3; wait += 1) await subscription.next({ timeoutMs: 1, signal })

  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('signals of a process that has died are passed on, in their order', async () => {
  const heard: string[] = []
  using _ = app.signals.listen('left', (detail) => heard.push(detail))
  using last = app.signals.subscribe('last')
  const died = new pg.Client(databaseUrl)
  await died.connect()
  await died.query(`insert into signals (topic) values ('left 1'), ('left 2'), ('left 2'), ('last')`)
  await died.end()

  expect(await last.next({ timeoutMs: 10_000 })).toBe(true)
  expect(heard).toEqual(['1', '2'])
})

test('a backlog that a process has left is passed on at once', async () => {
  using last = app.signals.subscribe('last-of-many')
  const died = new pg.Client(databaseUrl)
  await died.connect()
  await died.query(`insert into signals (topic) select 'many ' || n from generate_series(1, 6000) n`)
  await died.query(`insert into signals (topic) values ('last-of-many')`)
  await died.end()

  expect(await last.next({ timeoutMs: 8_000 })).toBe(true)
})

test('what a transaction publishes comes after its commit', async () => {
  using subscription = app.signals.subscribe('committed')
  using other = app.signals.subscribe('other')

  await app.db.transaction().execute(async (tx) => {
    await app.signals.publish(tx, 'committed')
    await app.signals.publish(app.db, 'other')
    await other.next({ timeoutMs: 5000 })
    expect(await subscription.next({ timeoutMs: 0 })).toBe(false)
  })

  expect(await subscription.next({ timeoutMs: 5000 })).toBe(true)
})

async function countSignals(db: Db, topic: string) {
  const { rows } = await sql`select from signals where topic = ${topic}`.execute(db)
  return rows.length
}

test('what is published to one that is ready here comes after the commit, and not through the database', async () => {
  const heard: string[] = []
  using _ = app.signals.listen(
    'work',
    (detail) => heard.push(detail),
    () => true,
  )

  const within = await transact(app.as(), async (ctx) => {
    await ctx.signals.publishToOne(ctx.db, 'work')
    return { left: await countSignals(ctx.db, 'work'), heard: heard.length }
  })

  expect(within).toEqual({ left: 0, heard: 0 })
  await expect.poll(() => heard).toEqual([app.signals.id])
})

test('what is published to one where none is ready goes to all', async () => {
  using subscription = app.signals.subscribe('work')
  using _ = app.signals.listen(
    'work',
    () => {},
    () => false,
  )

  const left = await transact(app.as(), async (ctx) => {
    await ctx.signals.publishToOne(ctx.db, 'work')
    return countSignals(ctx.db, 'work')
  })

  expect(left).toBe(1)
  expect(await subscription.next({ timeoutMs: 5000 })).toBe(true)
})

test('what is published to one by a transaction that fails is told to nobody', async () => {
  const heard: string[] = []
  using _ = app.signals.listen(
    'work',
    (detail) => heard.push(detail),
    () => true,
  )
  using next = app.signals.subscribe('next')

  await transact(app.as(), async (ctx) => {
    await ctx.signals.publishToOne(ctx.db, 'work')
    throw new Error('it fails')
  }).catch(() => {})
  await app.signals.publish(app.db, 'next')

  expect(await next.next({ timeoutMs: 5000 })).toBe(true)
  expect(heard).toEqual([])
})

test('what can wait is told before what is published after it', async () => {
  const heard: string[] = []
  using _ = app.signals.listen('first', (detail) => heard.push(detail))
  using second = app.signals.subscribe('second')

  await publishingSoon(['first change']).execute(app.db)
  await app.signals.publish(app.db, 'second')

  expect(await second.next({ timeoutMs: 5000 })).toBe(true)
  expect(heard).toEqual(['change'])
})

test('what can wait does not wait for a poll', async () => {
  using subscription = app.signals.subscribe('alone')
  const started = performance.now()

  await publishingSoon(['alone']).execute(app.db)

  expect(await subscription.next({ timeoutMs: 5000 })).toBe(true)
  expect(performance.now() - started).toBeLessThan(1000)
})
