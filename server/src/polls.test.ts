import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createPolls } from './polls.ts'
import { createTestApp } from './testing/app.ts'

const app = await createTestApp()

test('what several ask is one statement, and each hears its own answer', async () => {
  using polls = createPolls(app.db, app.log)
  const xid = sql<string>`pg_current_xact_id()::text || ' ' || statement_timestamp()::text`
  const answers: string[] = []
  polls.add({ ask: () => xid, answer: (told) => answers.push(`first ${told}`) })
  polls.add({ ask: () => xid, answer: (told) => answers.push(`second ${told}`) })
  polls.add({ ask: () => undefined, answer: () => answers.push('asked nothing') })

  await expect.poll(() => answers.length, { timeout: 10_000 }).toBe(2)

  expect(answers.map((answer) => answer.split(' ')[0])).toEqual(['first', 'second'])
  expect(new Set(answers.map((answer) => answer.replace(/^\w+ /, ''))).size).toBe(1)
})

test('who asks hears that the database does not answer, and is asked again', async () => {
  using polls = createPolls(app.db, app.log)
  let isBroken = true
  const heard: string[] = []
  polls.add({
    ask: () => (isBroken ? sql<number>`1 / 0` : sql<number>`1`),
    answer: () => heard.push('answer'),
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
  const question = polls.add({ ask: () => sql<number>`1`, answer: () => heard.push('gone') })
  polls.add({ ask: () => sql<number>`1`, answer: () => heard.push('there') })

  question[Symbol.dispose]()

  await expect.poll(() => heard, { timeout: 10_000 }).toEqual(['there'])
})

test('a poll that the database leaves without an answer is given up, and the next one is answered', async () => {
  using polls = createPolls(app.db, app.log, { pollMs: 20, silenceMs: 200 })
  let isStuck = true
  const heard: (number | string)[] = []
  polls.add({
    ask: () => (isStuck ? sql<number>`(select 1 from pg_sleep(3))` : sql<number>`7`),
    answer: (told) => heard.push(told),
    fail() {
      heard.push('failure')
      isStuck = false
    },
  })

  await expect.poll(() => heard.slice(0, 2)).toEqual(['failure', 7])
})

test('one that throws, as it asks or hears, keeps none of the others from their answers', async () => {
  const failures: unknown[] = []
  using polls = createPolls(
    app.db,
    { error: (details: unknown) => failures.push(details) },
    { pollMs: 20, silenceMs: 2000 },
  )
  const fail = () => {
    throw new Error('mistaken')
  }
  const heard: number[] = []
  polls.add({ ask: fail, answer: fail })
  polls.add({ ask: () => sql<number>`1`, answer: fail })
  polls.add({ ask: () => sql<number>`2`, answer: (told) => heard.push(told) })

  await expect.poll(() => heard.slice(0, 2)).toEqual([2, 2])

  expect(failures).toContainEqual({ err: new Error('mistaken') })
})
