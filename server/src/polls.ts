import { type RawBuilder, sql } from 'kysely'
import { DATABASE_TIMEOUT_MS, type Db, withTimeout } from './db/db.ts'
import type { Log } from './log.ts'

/** Polling interval in ms, and so the maximum delay that a lost signal causes. */
export const POLL_MS = 2000

/** A query that is polled in case a signal was lost. Errors that its functions throw are logged and affect no other query. */
export type PolledQuery<T> = {
  /** SQL of one value; undefined to skip this poll. */
  query: () => RawBuilder<T> | undefined
  onValue: (value: T) => void
  /** Called when the poll failed. */
  onError?: () => void
}

/** The polled queries of this process, sent as one statement, so a waiter needs no query. */
export type Polls = ReturnType<typeof createPolls>

type Pending = { polled: PolledQuery<unknown>; value: RawBuilder<unknown> }

/** Sends all queries as one statement every `POLL_MS`. None may wait for a lock, since the others would wait as well. */
export function createPolls(
  db: Db,
  log: Pick<Log, 'error'>,
  { pollMs, timeoutMs } = { pollMs: POLL_MS, timeoutMs: DATABASE_TIMEOUT_MS },
) {
  const queries = new Set<PolledQuery<unknown>>()
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  function schedule() {
    timer = setTimeout(() => void poll(), pollMs).unref()
  }

  async function poll() {
    const pending = [...queries].flatMap((polled): Pending[] => {
      const value = logged(() => polled.query())
      return value ? [{ polled, value }] : []
    })
    const values = await withTimeout(execute(db, pending), timeoutMs).catch((error: unknown) => {
      if (!isClosed) log.error({ err: error }, 'polling the database')
      return undefined
    })
    if (isClosed) return
    for (const [index, { polled }] of pending.entries()) {
      // It may have been disposed of during the poll.
      if (queries.has(polled)) logged(() => (values ? polled.onValue(values[`v${index}`]) : polled.onError?.()))
    }
    schedule()
  }

  function logged<R>(call: () => R): R | undefined {
    try {
      return call()
    } catch (error) {
      log.error({ err: error }, 'handling a polled query')
      return undefined
    }
  }

  schedule()
  return {
    /** Polls the query until disposed, first at the next poll. */
    add<T>(polled: PolledQuery<T>): Disposable {
      const added = polled as PolledQuery<unknown>
      queries.add(added)
      return { [Symbol.dispose]: () => void queries.delete(added) }
    },
    [Symbol.dispose]() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

async function execute(db: Db, pending: readonly Pending[]): Promise<Record<string, unknown>> {
  if (pending.length === 0) return {}
  const columns = pending.map(({ value }, index) => sql`(${value}) as ${sql.ref(`v${index}`)}`)
  const { rows } = await sql<Record<string, unknown>>`select ${sql.join(columns)}`.execute(db)
  return rows[0] ?? {}
}
