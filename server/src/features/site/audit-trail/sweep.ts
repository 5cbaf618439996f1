import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import * as store from './days-store.ts'

/** How many events one statement deletes. */
const BATCH = 5000

/** Deletes events that are older than the configured retention. */
export async function sweepAuditTrail(ctx: Ctx, signal: AbortSignal) {
  const days = ctx.config.auditRetentionDays
  if (days === 0) return
  const before = new Date(ctx.now().getTime() - days * 86_400_000)
  const deleteSome = async () => transact(ctx, async ({ db }) => store.deleteEventsBefore(db, before, BATCH))
  while (!signal.aborted && (await deleteSome()) === BATCH);
  if (!signal.aborted) await transact(ctx, async ({ db }) => store.deleteDaysBefore(db, before))
}
