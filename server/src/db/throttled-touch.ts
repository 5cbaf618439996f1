import type { Log } from '../log.ts'
import type { Db } from './db.ts'

/** Window whose touches are stored by one statement, in ms. */
const WINDOW_MS = 2000

/** Functions that close the open windows, by database. */
const openWindows = new WeakMap<Db, Set<() => Promise<void>>>()

/** Stores all pending touches, before the database is disconnected. */
export async function flushTouches(db: Db) {
  await Promise.all([...(openWindows.get(db) ?? [])].map(async (close) => close()))
}

/**
 * A throttled function that stores a “last seen” time for the row with an id: the first immediately, and those of the next seconds
 * together. Pending ones are lost when the process is killed.
 */
export function throttledTouch<C extends { db: Db; log: Log }>(
  store: (ctx: C, ids: readonly string[]) => Promise<void>,
  what: string,
) {
  /** Pending ids, by database. */
  const windows = new WeakMap<Db, Set<string>>()

  function open(ctx: C) {
    const ids = new Set<string>()
    const ofDatabase = openWindows.get(ctx.db) ?? new Set()
    const timer = setTimeout(() => {
      const isUsed = ids.size > 0
      void close()
      if (isUsed) open(ctx)
    }, WINDOW_MS)
    timer.unref()
    windows.set(ctx.db, ids)
    openWindows.set(ctx.db, ofDatabase.add(close))

    async function close() {
      clearTimeout(timer)
      windows.delete(ctx.db)
      ofDatabase.delete(close)
      if (ids.size === 0) return
      await store(ctx, [...ids]).catch((error: unknown) => ctx.log.error({ err: error }, `storing ${what}`))
    }
  }

  return async (ctx: C, id: string): Promise<void> => {
    const window = windows.get(ctx.db)
    if (window) return void window.add(id)
    open(ctx)
    return store(ctx, [id])
  }
}
