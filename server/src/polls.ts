import { type RawBuilder, sql } from 'kysely'
import type { Db } from './db/db.ts'
import type { Log } from './log.ts'
import { withTimeout, DATABASE_TIMEOUT_MS } from './silence.ts'

/** A missed signal delays what waits for it by at most this long, in ms. */
export const POLL_MS = 2000

/** A query that is polled in case a signal was lost. */
export type Question<T> = {
  /** SQL of one value; undefined when there is nothing to ask now. What throws, here or below, is logged and holds up no one else. */
  ask: () => RawBuilder<T> | undefined
  response: (value: T) => void
  /** The query for expired leases failed. */
  fail?: () => void
}

/** All polled queries of this process, sent together: a waiter costs no separate statement. */
export type Polls = Disposable & {
  /** Asks from the next poll on, until it is disposed of. */
  add: <T>(question: Question<T>) => Disposable
}

type Asked = { question: Question<unknown>; value: RawBuilder<unknown> }

/** Asks all questions in one statement, every `POLL_MS`. None of them may wait for a lock: the others would wait with it. */
export function createPolls(
  db: Db,
  log: Pick<Log, 'error'>,
  { pollMs, timeoutMs } = { pollMs: POLL_MS, timeoutMs: DATABASE_TIMEOUT_MS },
): Polls {
  const questions = new Set<Question<unknown>>()
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  function plan() {
    timer = setTimeout(() => void poll(), pollMs)
    timer.unref()
  }

  async function poll() {
    const asked = [...questions].flatMap((question): Asked[] => {
      const value = guarded(() => question.ask())
      return value ? [{ question, value }] : []
    })
    const responses = await withTimeout(ask(db, asked), timeoutMs).catch((error: unknown) => {
      if (!isClosed) log.error({ err: error }, 'looking for what has come')
      return undefined
    })
    if (isClosed) return
    for (const [index, { question }] of asked.entries()) {
      // Who has left meanwhile hears no more.
      if (!questions.has(question)) continue
      guarded(() => (responses ? question.response(responses[`a${index}`]) : question.fail?.()))
    }
    plan()
  }

  /** Polls go on whatever one of those who ask throws: without them, all that the process looks for would stop. */
  function guarded<R>(call: () => R): R | undefined {
    try {
      return call()
    } catch (error) {
      log.error({ err: error }, 'asking for what has come')
      return undefined
    }
  }

  plan()
  return {
    add<T>(question: Question<T>) {
      const added = question as Question<unknown>
      questions.add(added)
      return { [Symbol.dispose]: () => void questions.delete(added) }
    },
    [Symbol.dispose]() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

async function ask(db: Db, asked: readonly Asked[]): Promise<Record<string, unknown>> {
  if (asked.length === 0) return {}
  const columns = asked.map(({ value }, index) => sql`(${value}) as ${sql.ref(`a${index}`)}`)
  const { rows } = await sql<Record<string, unknown>>`select ${sql.join(columns)}`.execute(db)
  return rows[0] ?? {}
}
