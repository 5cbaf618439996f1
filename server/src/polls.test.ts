import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createPolls } from './polls.ts'
import { createTestApp } from './testing/app.ts'

const app = await createTestApp()

test('what several ask is one statement, and each hears its own response', async () => {
  using polls = createPolls(app.db, app.log)
  const xid = sql<string>`pg_current_xact_id()::text || ' ' || statement_timestamp()::text`
  const responses: string[] = []
  polls.add({ ask: () => xid, response: (value) => responses.push(`first ${value}`) })
  polls.add({ ask: () => xid, response: (value) => responses.push(`second ${value}`) })
  polls.add({ ask: () => undefined, response: () => responses.push('asked nothing') })

  await expect.poll(() => responses.length, { timeout: 10_000 }).toBe(2)

  expect(responses.map((response) => response.split(' ')[0])).toEqual(['first', 'second'])
  expect(new Set(responses.map((response) => response.replace(/^\w+ /, ''))).size).toBe(1)
})

test('who asks hears that the database does not answer, and is asked again', async () => {
  using polls = createPolls(app.db, app.log)
  let isBroken = true
  const heard: string[] = []
  polls.add({
    ask: () => (isBroken ? sql<number>`1 / 0` : sql<number>`1`),
    response: () => heard.push('answer'),
    fail() {
      heard.push('failure')
      isBroken = false
    },
  })

  await expect.poll(() => heard, { timeout: 10_000 }).toEqual(['failure', 'answer'])
})

test('who asks no more hears nothing', async () => {
  using polls = createPolls(app.db, app.log)
  const heard: string[] = []
  const question = polls.add({ ask: () => sql<number>`1`, response: () => heard.push('gone') })
  polls.add({ ask: () => sql<number>`1`, response: () => heard.push('there') })

  question[Symbol.dispose]()

  await expect.poll(() => heard, { timeout: 10_000 }).toEqual(['there'])
})

test('a poll that the database leaves without a response is given up, and the next one is answered', async () => {
  using polls = createPolls(app.db, app.log, { pollMs: 20, timeoutMs: 200 })
  let isStuck = true
  const heard: (number | string)[] = []
  polls.add({
    ask: () => (isStuck ? sql<number>`(select 1 from pg_sleep(3))` : sql<number>`7`),
    response: (value) => heard.push(value),
    fail() {
      heard.push('failure')
      isStuck = false
    },
  })

  await expect.poll(() => heard, { timeout: 10_000 }).toContain(7)
  expect(heard[0]).toBe('failure')
})

test('one that throws, as it asks or hears, keeps none of the others from their responses', async () => {
  const failures: unknown[] = []
  using polls = createPolls(
    app.db,
    { error: (details: unknown) => failures.push(details) },
    { pollMs: 20, timeoutMs: 2000 },
  )
  const fail = () => {
    throw new Error('mistaken')
  }
  const heard: number[] = []
  polls.add({ ask: fail, response: fail })
  polls.add({ ask: () => sql<number>`1`, response: fail })
  polls.add({ ask: () => sql<number>`2`, response: (value) => heard.push(value) })

  await expect.poll(() => heard.slice(0, 2)).toEqual([2, 2])

  expect(failures).toContainEqual({ err: new Error('mistaken') })
})
