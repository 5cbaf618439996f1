import type { TransactionCtx } from '../../../app.ts'
import { cancelResults, type EndedRun } from '../../tasks/task-results/cancel.ts'
import * as store from './store.ts'

/** The run has ended: stages and results that are open are canceled. */
export async function cancelStages(ctx: TransactionCtx, run: EndedRun) {
  await store.cancelStages(ctx.db, run.id, ctx.now())
  await cancelResults(ctx, run)
}
