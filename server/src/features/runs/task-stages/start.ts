import type { Stage } from '@groundstate/contract/run-tasks'
import type { TransactionCtx } from '../../../app.ts'
import { startResults } from '../../tasks/task-results/start.ts'
import type { Change } from '../runs/transition.ts'
import { settleStage } from './settle.ts'
import * as store from './store.ts'

/**
 * Starts a stage that the run has reached: its requests go out once this transaction has committed. When no task is
 * left to ask, the stage ends at once, and what changes in the run by that is returned: the caller applies it.
 */
export async function startStage(ctx: TransactionCtx, run: { id: string }, name: Stage): Promise<Change | undefined> {
  const stage = await store.beginStage(ctx.db, { runId: run.id, name, now: ctx.now() })
  if (!stage) return undefined
  const waits = await startResults(ctx, stage.id)
  return waits ? undefined : settleStage(ctx, stage.id)
}
