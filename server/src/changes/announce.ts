import { randomUUID } from 'node:crypto'
import type { Db } from '../db/db.ts'
import type { Log } from '../log.ts'
import { publishingSoon, withDetail } from '../signals.ts'
import { CHANGE_TOPIC, type SignalledChange } from './feed.ts'

/** What comes within this time, in ms, is told together. */
const WINDOW_MS = 250

type AnnounceCtx = { db: Db; log: Log }
type NewChange = Omit<SignalledChange, 'cursor'>

/** The changes that are told when the window closes, by their things. */
type Window = { changes: Map<string, NewChange>; timer: NodeJS.Timeout }

const windows = new WeakMap<Db, Window>()

/**
 * Tells of a change that is made too often for a signal in its transaction, soon after: the first at once, and each thing that
 * changes in the next moments once. A server that is killed meanwhile tells nothing of it.
 */
export function announceSoon(ctx: AnnounceCtx, change: NewChange) {
  const window = windows.get(ctx.db)
  if (window) return void window.changes.set(change.id, change)
  open(ctx)
  void announce(ctx, [change])
}

/** Tells at once of what waits for the end of a window: the last thing before the database is left. */
export async function announceRest(ctx: AnnounceCtx) {
  const window = windows.get(ctx.db)
  windows.delete(ctx.db)
  clearTimeout(window?.timer)
  if (window && window.changes.size > 0) await announce(ctx, [...window.changes.values()])
}

function open(ctx: AnnounceCtx) {
  const changes = new Map<string, NewChange>()
  const timer = setTimeout(() => {
    windows.delete(ctx.db)
    if (changes.size === 0) return
    open(ctx)
    void announce(ctx, [...changes.values()])
  }, WINDOW_MS)
  timer.unref()
  windows.set(ctx.db, { changes, timer })
}

async function announce({ db, log }: AnnounceCtx, changes: readonly NewChange[]) {
  const cursor = randomUUID()
  const topics = changes.map((change) => withDetail(CHANGE_TOPIC, JSON.stringify({ cursor, ...change })))
  await publishingSoon(topics)
    .execute(db)
    .catch((error: unknown) => log.error({ err: error }, 'telling of changes'))
}
