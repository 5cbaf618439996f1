import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Db } from './db/db.ts'
import type { Log } from './log.ts'
import type { Question } from './polls.ts'

const PROBES = 5
const INTERVAL_MS = 5_000
/** How often the own clock is compared with the time that has passed, in ms. */
const WATCH_MS = 1000
/** Clocks that differ by less than this, in ms, count as equal. */
const TOLERANCE_MS = 100

const TIME = sql<number>`(extract(epoch from clock_timestamp()) * 1000)::float8`

type DatabaseClock = AsyncDisposable & {
  now: () => Date
  /** Saves a separate probe where the process polls anyway: the response contains the database's time. */
  question: Question<number>
}

/**
 * The time of the database, by the own clock and its distance from the database's. So all replicas have the same time, whatever
 * their clocks say, and a lease that one of them gives expires at the same moment for all. The distance is measured now, again
 * every few seconds, as the clock of the database is another one after a failover, and as soon as the own clock has been set. What the
 * process asks the database anyway tells it, too.
 */
export async function createDatabaseClock(
  db: Db,
  log: Pick<Log, 'warn'>,
  ownNow: () => number = Date.now,
): Promise<DatabaseClock> {
  const stop = new AbortController()
  let offsetMs = 0
  let measuredAt = 0
  /** The own clock's distance from the time that this machine was running: it changes when the clock is set. */
  let aheadMs = 0

  async function measure() {
    const startedAt = performance.now()
    const ahead = ownNow() - startedAt
    const { offsetMs: measured, tookMs } = await measureOffset(db, { ownNow, expectedMs: offsetMs })
    measuredAt = startedAt
    aheadMs = ahead
    if (isExpected(measured, tookMs)) return
    offsetMs = Math.abs(measured) < TOLERANCE_MS ? 0 : measured
    if (offsetMs !== 0) log.warn({ offsetMs }, "this machine's clock and that of the database differ")
  }

  async function keepMeasuring() {
    while (!stop.signal.aborted) {
      await delay(WATCH_MS, undefined, { signal: stop.signal, ref: false }).catch(() => {})
      const isSet = Math.abs(ownNow() - performance.now() - aheadMs) >= TOLERANCE_MS
      const isDue = performance.now() - measuredAt >= INTERVAL_MS
      // While the database is away the last distance holds.
      if ((isSet || isDue) && !stop.signal.aborted) await measure().catch(() => {})
    }
  }

  let asked = { ownMs: 0, startedAt: 0 }
  const question: Question<number> = {
    ask() {
      asked = { ownMs: ownNow(), startedAt: performance.now() }
      return TIME
    },
    response(databaseMs) {
      const { tookMs, offsetMs: reported } = offsetOf(databaseMs, asked)
      if (!isExpected(reported, tookMs)) return
      measuredAt = asked.startedAt
      aheadMs = asked.ownMs - asked.startedAt
    },
  }

  /** Whether the distance is the one that is known: a response under load may be wrong by half of the time that it took. */
  function isExpected(measured: number, tookMs: number) {
    return Math.abs(measured - offsetMs) < TOLERANCE_MS + tookMs / 2
  }

  await measure()
  const measuring = keepMeasuring()
  return {
    now: () => new Date(ownNow() + offsetMs),
    question,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await measuring
    },
  }
}

/** Duration of a request that just completed, and the offset of the database's clock, in ms. */
function offsetOf(databaseMs: number, asked: { ownMs: number; startedAt: number }) {
  const tookMs = performance.now() - asked.startedAt
  return { tookMs, offsetMs: Math.round(databaseMs - asked.ownMs - tookMs / 2) }
}

/**
 * By how much the database's clock is ahead, in ms: what the quickest of a few answers says, and how long that one took. A quick
 * answer that says what is expected is enough.
 */
async function measureOffset(db: Db, { ownNow, expectedMs }: { ownNow: () => number; expectedMs: number }) {
  let quickest = { tookMs: Infinity, offsetMs: 0 }
  for (let probe = 0; probe < PROBES; probe += 1) {
    const asked = { ownMs: ownNow(), startedAt: performance.now() }
    const { rows } = await sql<{ ms: number }>`select ${TIME} as ms`.execute(db)
    const probe = offsetOf(rows[0]?.ms ?? asked.ownMs, asked)
    if (probe.tookMs < quickest.tookMs) quickest = probe
    if (probe.tookMs < TOLERANCE_MS && Math.abs(quickest.offsetMs - expectedMs) < TOLERANCE_MS) break
  }
  return quickest
}
