import type { Ctx } from '../../../app.ts'
import { ATTEMPT_LIMITS } from './count-attempts.ts'
import * as store from './store.ts'

/** Deletes sessions that have ended, and counters of sign-in attempts that no longer matter. */
export async function sweepSessions(ctx: Ctx) {
  const now = ctx.now()
  await store.deleteEnded(ctx.db, { now, before: new Date(now.getTime() - ATTEMPT_LIMITS.windowMs) })
}
