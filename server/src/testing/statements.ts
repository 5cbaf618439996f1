import { AsyncLocalStorage } from 'node:async_hooks'
import pg from 'pg'
import { vi } from 'vitest'
import { Pipeline } from '../db/statement.ts'
import { atEnd } from './cleanup.ts'

type Counter = { statements: number }

const counters = new AsyncLocalStorage<Counter>()

/**
 * Returns a function that counts the statements which some work sends to the app's pool, deferred ones, `begin` and `commit` included, and
 * not those of listeners and timers at the same time. Call it before the app is created.
 */
export function countingStatements() {
  const { query } = pg.Client.prototype
  const queries = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...sent: any[]) {
    const counter = counters.getStore()
    // Connections outside the pool send texts.
    if (counter && sent[0] instanceof Pipeline) counter.statements += sent[0].statements.length
    return Reflect.apply(query, this, sent)
  })
  atEnd(() => queries.mockRestore())

  return async <T>(work: () => Promise<T>): Promise<Counter & { result: T }> => {
    const counter = { statements: 0 }
    const result = await counters.run(counter, work)
    return { ...counter, result }
  }
}
