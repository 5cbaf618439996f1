import type { Ctx } from '../../../app.ts'
import { ATTEMPT_LIMITS, REMEMBERED_MS } from './count-attempts.ts'
import * as store from './store.ts'

/** Deletes sessions that have ended, and what was kept of attempts to sign in and no longer matters. */
export async function sweepSessions(ctx: Ctx) {
  const now = ctx.now()
  const ago = (ms: number) => new Date(now.getTime() - ms)
  const ends = { now, countersBefore: ago(ATTEMPT_LIMITS.windowMs), placesBefore: ago(REMEMBERED_MS) }
  await store.deleteEnded(ctx.db, ends)
}
