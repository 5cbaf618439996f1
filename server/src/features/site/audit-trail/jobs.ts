import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { scheduledJob } from '../../../handlers.ts'
import * as store from './store.ts'

export const auditTrailJobs = [
  scheduledJob('audit-trail.sweep', '43 3 * * *', sweepAuditTrail, { retryLimit: 0 }),
  // Soon after the end of a day: each request counts the events that are not counted yet.
  scheduledJob('audit-trail.count-days', '17 1 * * *', countAuditDays, { retryLimit: 0 }),
]

/** Events deleted by one statement. */
const BATCH = 5000

/** Deletes events after the configured retention period. */
export async function sweepAuditTrail(ctx: Ctx, signal: AbortSignal) {
  const days = ctx.config.auditRetentionDays
  if (days === 0) return
  const before = new Date(ctx.now().getTime() - days * 86_400_000)
  const deleteSome = async () => transact(ctx, async ({ db }) => store.deleteEventsBefore(db, before, BATCH))
  while (!signal.aborted && (await deleteSome()) === BATCH);
  if (!signal.aborted) await transact(ctx, async ({ db }) => store.deleteDaysBefore(db, before))
}

/** Counts the events of past days, so that requests need not. */
export async function countAuditDays(ctx: Ctx) {
  await transact(ctx, async ({ db }) => store.insertDays(db, ctx.now()))
}
