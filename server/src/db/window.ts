import type { App } from '../app.ts'
import type { Db } from './db.ts'

/** What arrives within this time, in ms, is stored by one statement. */
const WINDOW_MS = 2000

type WindowCtx = Pick<App, 'db' | 'now' | 'log'>

/**
 * Makes a function that stores that something was seen, of the row with an id: the first at once, and those of the next seconds
 * together. What a process had not stored when it was killed is lost, so it is for times that are seen again and again.
 */
export function storeInWindows(store: (db: Db, ids: readonly string[], now: Date) => Promise<void>, what: string) {
  /** The rows that are stored when the window closes, by the database. */
  const windows = new WeakMap<Db, Set<string>>()

  function open(ctx: WindowCtx) {
    const ids = new Set<string>()
    windows.set(ctx.db, ids)
    setTimeout(() => {
      windows.delete(ctx.db)
      if (ids.size === 0) return
      open(ctx)
      store(ctx.db, [...ids], ctx.now()).catch((error: unknown) => ctx.log.error({ err: error }, `storing ${what}`))
    }, WINDOW_MS).unref()
  }

  return async (ctx: WindowCtx, id: string): Promise<void> => {
    const window = windows.get(ctx.db)
    if (window) return void window.add(id)
    open(ctx)
    return store(ctx.db, [id], ctx.now())
  }
}
