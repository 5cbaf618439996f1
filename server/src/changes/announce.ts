import { randomUUID } from 'node:crypto'
import type { App } from '../app.ts'
import { publishing, withDetail } from '../signals.ts'
import { CHANGE_TOPIC, type SignalledChange } from './feed.ts'

/** What comes within this time, in ms, is told together. */
const WINDOW_MS = 250

type AnnounceCtx = Pick<App, 'db' | 'log'>
type NewChange = Omit<SignalledChange, 'cursor'>

/** The changes that are told when the window closes, by the database. */
const windows = new WeakMap<App['db'], Map<string, NewChange>>()

/**
 * Tells of a change that is made too often for a signal in its transaction, soon after: the first at once, and each thing that
 * changes in the next moments once. A server that is killed meanwhile tells nothing of it.
 */
export function announceSoon(ctx: AnnounceCtx, change: NewChange) {
  const window = windows.get(ctx.db)
  if (window) return void window.set(change.id, change)
  open(ctx)
  announce(ctx, [change])
}

function open(ctx: AnnounceCtx) {
  const changes = new Map<string, NewChange>()
  windows.set(ctx.db, changes)
  setTimeout(() => {
    windows.delete(ctx.db)
    if (changes.size === 0) return
    open(ctx)
    announce(ctx, [...changes.values()])
  }, WINDOW_MS).unref()
}

function announce({ db, log }: AnnounceCtx, changes: readonly NewChange[]) {
  const cursor = randomUUID()
  const topics = changes.map((change) => withDetail(CHANGE_TOPIC, JSON.stringify({ cursor, ...change })))
  publishing(topics)
    .execute(db)
    .catch((error: unknown) => log.error({ err: error }, 'telling of changes'))
}
