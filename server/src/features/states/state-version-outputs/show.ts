import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { checkDemands } from '../../../auth/demands.ts'
import { readAccess } from '../../../auth/workspace-access.ts'
import { transact } from '../../../db/db.ts'
import { notFound } from '../../../errors.ts'
import { sensitiveOutputAudit } from './audit.ts'
import { openOutput, type Output } from './sealed-output.ts'
import { findOutput } from './store.ts'

/** One output with its value, even a sensitive one: the audit trail keeps who has read that. */
export async function showStateVersionOutput(ctx: Ctx, id: string): Promise<Output> {
  const row = await findOutput(ctx.db, ctx.actor, id)
  if (!row || row.status !== 'finalized') throw notFound('state version output')
  const { access, can } = readAccess(ctx.actor, row)
  if (can.size > 0) checkDemands(access)
  if (!can.has('state-outputs:read')) throw notFound('state version output')
  if (row.sensitive) await transact(ctx, async (ctx) => recordAudit(ctx, sensitiveOutputAudit(row)))
  return openOutput(ctx, row)
}
