import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { insertDays } from './days-store.ts'

/** Counts the events of days that are over, so that totals need not. */
export async function countAuditDays(ctx: Ctx) {
  await transact(ctx, async ({ db }) => insertDays(db, ctx.now()))
}
