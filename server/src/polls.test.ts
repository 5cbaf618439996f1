import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createPolls } from './polls.ts'
import { createTestApp } from './testing/app.ts'

const app = await createTestApp()

test('all queries are sent as one statement, and each gets its own value', async () => {
  using polls = createPolls(app.db, app.log)
  const xid = sql<string>`pg_current_xact_id()::text || ' ' || statement_timestamp()::text`
  const responses: string[] = []
  polls.add({ query: () => xid, onValue: (value) => responses.push(`first ${value}`) })
  polls.add({ query: () => xid, onValue: (value) => responses.push(`second ${value}`) })
  polls.add({ query: () => undefined, onValue: () => responses.push('skipped') })

  await expect.poll(() => responses.length, { timeout: 10_000 }).toBe(2)

  expect(responses.map((response) => response.split(' ')[0])).toEqual(['first', 'second'])
  expect(new Set(responses.map((response) => response.replace(/^\w+ /, ''))).size).toBe(1)
})

test('a failed poll calls onError, and the query is polled again', async () => {
  using polls = createPolls(app.db, app.log)
  let isBroken = true
  const events: string[] = []
  polls.add({
    query: () => (isBroken ? sql<number>`1 / 0` : sql<number>`1`),
    onValue: () => events.push('value'),
    onError() {
      events.push('failure')
      isBroken = false
    },
  })

  await expect.poll(() => events, { timeout: 10_000 }).toEqual(['failure', 'value'])
})

test('a query that is disposed of gets no values', async () => {
  using polls = createPolls(app.db, app.log)
  const events: string[] = []
  const polled = polls.add({ query: () => sql<number>`1`, onValue: () => events.push('disposed') })
  polls.add({ query: () => sql<number>`1`, onValue: () => events.push('active') })

  polled[Symbol.dispose]()

  await expect.poll(() => events, { timeout: 10_000 }).toEqual(['active'])
})

test('a poll without a response times out, and the next one gets a value', async () => {
  using polls = createPolls(app.db, app.log, { pollMs: 20, timeoutMs: 200 })
  let isStuck = true
  const events: (number | string)[] = []
  polls.add({
    query: () => (isStuck ? sql<number>`(select 1 from pg_sleep(3))` : sql<number>`7`),
    onValue: (value) => events.push(value),
    onError() {
      events.push('failure')
      isStuck = false
    },
  })

  await expect.poll(() => events, { timeout: 10_000 }).toContain(7)
  expect(events[0]).toBe('failure')
})

test('a query that throws does not affect the others', async () => {
  const failures: unknown[] = []
  using polls = createPolls(
    app.db,
    { error: (details: unknown) => failures.push(details) },
    { pollMs: 20, timeoutMs: 2000 },
  )
  const fail = () => {
    throw new Error('mistaken')
  }
  const events: number[] = []
  polls.add({ query: fail, onValue: fail })
  polls.add({ query: () => sql<number>`1`, onValue: fail })
  polls.add({ query: () => sql<number>`2`, onValue: (value) => events.push(value) })

  await expect.poll(() => events.slice(0, 2)).toEqual([2, 2])

  expect(failures).toContainEqual({ err: new Error('mistaken') })
})
