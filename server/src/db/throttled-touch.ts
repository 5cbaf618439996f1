import type { Log } from '../log.ts'
import type { Db } from './db.ts'

/** Window within which touches are stored by one statement, in ms. */
const WINDOW_MS = 2000

type WindowCtx = { db: Db; log: Log }

/** Pending writes of open windows, by database. */
const rests = new WeakMap<Db, Set<() => Promise<void>>>()

/** Stores at once what waits for the end of a window: the last thing before the database is left. */
export async function flushTouches(db: Db) {
  await Promise.all([...(rests.get(db) ?? [])].map(async (rest) => rest()))
}

/**
 * Makes a function that stores that something was seen, of the row with an id: the first at once, and those of the next seconds
 * together. What a process had not stored when it was killed is lost, so it is for times that are seen again and again.
 */
export function throttledTouch<C extends WindowCtx>(
  store: (ctx: C, ids: readonly string[]) => Promise<void>,
  what: string,
) {
  /** The rows that are stored when the window closes, by the database. */
  const windows = new WeakMap<Db, Set<string>>()

  function open(ctx: C) {
    const ids = new Set<string>()
    const ofDatabase = rests.get(ctx.db) ?? new Set()
    const timer = setTimeout(() => {
      const isUsed = ids.size > 0
      void close()
      if (isUsed) open(ctx)
    }, WINDOW_MS)
    timer.unref()
    windows.set(ctx.db, ids)
    rests.set(ctx.db, ofDatabase.add(close))

    async function close() {
      clearTimeout(timer)
      windows.delete(ctx.db)
      ofDatabase.delete(close)
      if (ids.size === 0) return
      await store(ctx, [...ids]).catch((error: unknown) => {
        ctx.log.error({ err: error }, `storing ${what}`)
      })
    }
  }

  return async (ctx: C, id: string): Promise<void> => {
    const window = windows.get(ctx.db)
    if (window) return void window.add(id)
    open(ctx)
    return store(ctx, [id])
  }
}
