import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createDb, DATABASE_TIMEOUT_MS } from '../db/db.ts'
import { createConnectionPool } from '../db/pool.ts'
import { jobHandler } from '../handlers.ts'
import { POLL_MS, createPolls } from '../polls.ts'
import { createSignals } from '../signals.ts'
import { createTestApp } from '../testing/app.ts'
import { atEnd } from '../testing/cleanup.ts'
import { createTestDatabase } from '../testing/database.ts'
import { createJobs, jobKind } from './jobs.ts'

/** A process that runs jobs, and an app for their context. */
async function createWorker({ pollMs } = { pollMs: POLL_MS }) {
  const app = await createTestApp()
  const database = await createTestDatabase()
  const pool = createConnectionPool(database.url, { max: 2 })
  const db = createDb(pool)
  const log = pino({ level: 'silent' })
  const polls = createPolls(db, log, { pollMs, timeoutMs: DATABASE_TIMEOUT_MS })
  const signals = await createSignals(database.url, { id: randomUUID(), polls })
  const jobs = await createJobs({ pool, signals, polls, log }, { runsJobs: true })
  atEnd(async () => {
    await jobs.stop(1000)
    await jobs[Symbol.asyncDispose]()
    await signals[Symbol.asyncDispose]()
    polls[Symbol.dispose]()
    await db.destroy()
    await database[Symbol.asyncDispose]()
  })
  return { app, db, jobs }
}

test('a backlog is processed without pauses between jobs', async () => {
  const { app, db, jobs } = await createWorker()
  const kind = jobKind('test.backlog', z.object({ n: z.int() }))
  const ran: number[] = []
  const { promise: isDone, resolve } = Promise.withResolvers<void>()
  const handler = jobHandler(kind, async (_, { n }) => {
    ran.push(n)
    if (ran.length === 40) resolve()
  })
  await jobs.declare([handler])
  for (let n = 0; n < 40; n += 1) await jobs.enqueue(db, kind, { n })
  const started = performance.now()

  await jobs.start(app.as(), [handler])
  await isDone

  // Two at a time, with a pause of two seconds between them, would take 38 seconds.
  expect(performance.now() - started).toBeLessThan(15_000)
  expect(new Set(ran).size).toBe(40)
}, 60_000)

test('a job for later runs when it is due, without a poll', async () => {
  const { app, db, jobs } = await createWorker({ pollMs: 600_000 })
  const kind = jobKind('test.later', z.object({}))
  const { promise: hasRun, resolve } = Promise.withResolvers<number>()
  const handler = jobHandler(kind, async () => resolve(Date.now()))
  await jobs.declare([handler])
  await jobs.start(app.as(), [handler])
  const due = Date.now() + 300

  await jobs.enqueue(db, kind, {}, { startAfter: new Date(due) })

  expect((await hasRun) - due).toBeGreaterThanOrEqual(0)
}, 60_000)
