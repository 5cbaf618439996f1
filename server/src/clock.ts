import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Db } from './db/db.ts'
import type { Log } from './log.ts'
import type { PolledQuery } from './polls.ts'

const PROBES = 5
const INTERVAL_MS = 5_000
/** Interval at which the local clock is compared with the monotonic clock, in ms. */
const WATCH_MS = 1000
/** Clocks that differ by less than this, in ms, count as equal. */
const TOLERANCE_MS = 100

const TIME = sql<number>`(extract(epoch from clock_timestamp()) * 1000)::float8`

type DatabaseClock = AsyncDisposable & {
  now: () => Date
  /** Measures the offset with the polls of the process, which saves separate probes. */
  polledQuery: PolledQuery<number>
}

/**
 * The time of the database: the local clock plus a measured offset. So all replicas share a time, and leases expire at the same moment for
 * all. The offset is measured now, every few seconds (after a failover the database has another clock), and when the local clock was set.
 */
export async function createDatabaseClock(
  db: Db,
  log: Pick<Log, 'warn'>,
  localNow: () => number = Date.now,
): Promise<DatabaseClock> {
  const stop = new AbortController()
  let offsetMs = 0
  let measuredAt = 0
  /** Local clock minus monotonic clock: it changes when the local clock is set. */
  let aheadMs = 0

  async function measure() {
    const started = startProbe(localNow)
    const measured = await measureOffset(db, { localNow, expectedMs: offsetMs })
    confirm(started)
    if (isExpected(measured)) return
    offsetMs = Math.abs(measured.offsetMs) < TOLERANCE_MS ? 0 : measured.offsetMs
    if (offsetMs !== 0) log.warn({ offsetMs }, "this machine's clock differs from that of the database")
  }

  function confirm({ localMs, startedAt }: Probe) {
    measuredAt = startedAt
    aheadMs = localMs - startedAt
  }

  async function keepMeasuring() {
    while (!stop.signal.aborted) {
      await delay(WATCH_MS, undefined, { signal: stop.signal, ref: false }).catch(() => {})
      const isSet = Math.abs(localNow() - performance.now() - aheadMs) >= TOLERANCE_MS
      const isDue = performance.now() - measuredAt >= INTERVAL_MS
      // While the database is unavailable, the last offset is used.
      if ((isSet || isDue) && !stop.signal.aborted) await measure().catch(() => {})
    }
  }

  let polled: Probe = { localMs: 0, startedAt: 0 }
  const polledQuery: PolledQuery<number> = {
    query() {
      polled = startProbe(localNow)
      return TIME
    },
    onValue(databaseMs) {
      if (isExpected(offsetOf(databaseMs, polled))) confirm(polled)
    },
  }

  /** Whether a measurement confirms the known offset; it may be wrong by half of its duration. */
  function isExpected(measured: Offset) {
    return Math.abs(measured.offsetMs - offsetMs) < TOLERANCE_MS + measured.tookMs / 2
  }

  await measure()
  const measuring = keepMeasuring()
  return {
    now: () => new Date(localNow() + offsetMs),
    polledQuery,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await measuring
    },
  }
}

/** Start of a query for the time, by the local and the monotonic clock, in ms. */
type Probe = { localMs: number; startedAt: number }

function startProbe(localNow: () => number): Probe {
  return { localMs: localNow(), startedAt: performance.now() }
}

type Offset = ReturnType<typeof offsetOf>

/** Duration of a probe that just ended, and how far the database's clock is ahead, in ms. */
function offsetOf(databaseMs: number, { localMs, startedAt }: Probe) {
  const tookMs = performance.now() - startedAt
  return { tookMs, offsetMs: Math.round(databaseMs - localMs - tookMs / 2) }
}

/** The fastest of a few probes; a fast one with the expected offset suffices. */
async function measureOffset(db: Db, { localNow, expectedMs }: { localNow: () => number; expectedMs: number }) {
  let fastest: Offset = { tookMs: Infinity, offsetMs: 0 }
  for (let count = 0; count < PROBES; count += 1) {
    const probe = startProbe(localNow)
    const { rows } = await sql<{ ms: number }>`select ${TIME} as ms`.execute(db)
    const offset = offsetOf(rows[0]?.ms ?? probe.localMs, probe)
    if (offset.tookMs < fastest.tookMs) fastest = offset
    if (offset.tookMs < TOLERANCE_MS && Math.abs(fastest.offsetMs - expectedMs) < TOLERANCE_MS) break
  }
  return fastest
}
