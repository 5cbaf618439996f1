import type { TransactionCtx } from '../../../app.ts'
import type { RunFacts } from '../runs/machine.ts'
import { listStatuses } from './store.ts'

/** The stages of a run as the run machine knows them. */
export async function readStageStatuses(ctx: TransactionCtx, runId: string): Promise<RunFacts['stages']> {
  const rows = await listStatuses(ctx.db, runId)
  return Object.fromEntries(rows.map((row) => [row.stage, row.held_until === null ? row.status : 'deferred']))
}
