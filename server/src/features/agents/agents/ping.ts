import type { Ctx } from '../../../app.ts'
import type { Db } from '../../../db/db.ts'
import { touchAgents } from './store.ts'

/** Signs of life that arrive within this time, in ms, are stored by one statement. */
const WINDOW_MS = 2000

/** The agents whose sign of life is stored when the window closes, by the database. */
const windows = new WeakMap<Db, Set<string>>()

/** Stores a sign of life: the first at once, and those of the next seconds together. */
export async function noteAgentPing(ctx: Pick<Ctx, 'db' | 'now' | 'log'>, id: string) {
  const open = windows.get(ctx.db)
  if (open) return void open.add(id)
  openWindow(ctx)
  return touchAgents(ctx.db, [id], ctx.now())
}

function openWindow(ctx: Pick<Ctx, 'db' | 'now' | 'log'>) {
  const ids = new Set<string>()
  windows.set(ctx.db, ids)
  setTimeout(() => {
    windows.delete(ctx.db)
    if (ids.size === 0) return
    openWindow(ctx)
    touchAgents(ctx.db, [...ids], ctx.now()).catch((error: unknown) =>
      ctx.log.error({ err: error }, 'storing the signs of life of agents'),
    )
  }, WINDOW_MS).unref()
}
