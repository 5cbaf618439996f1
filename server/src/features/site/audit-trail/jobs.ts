import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { jobHandler } from '../../../handlers.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import * as store from './store.ts'

const sweep = jobKind('audit-trail.sweep', z.object({}), { concurrency: 1, retryLimit: 0 })
const countDays = jobKind('audit-trail.count-days', z.object({}), { concurrency: 1, retryLimit: 0 })

export const auditTrailJobs = [
  jobHandler(sweep, async (ctx, _, signal) => sweepAuditTrail(ctx, signal), { schedule: '43 3 * * *' }),
  // Soon after the end of a day: each request counts the events that are not counted yet.
  jobHandler(countDays, async (ctx) => countAuditDays(ctx), { schedule: '17 1 * * *' }),
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
