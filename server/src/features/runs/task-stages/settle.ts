import type { TransactionCtx } from '../../../app.ts'
import { listResults } from '../../tasks/task-results/store.ts'
import { announceRuns } from '../runs/announce.ts'
import { deferredUntil, endDeferralJob, VERDICT_DEFERRAL_MS } from '../runs/deferral.ts'
import type { Change } from '../runs/transition.ts'
import * as store from './store.ts'
import { stageVerdict } from './verdict.ts'

/**
 * Ends a stage whose results have all ended, and returns what changes in its run: the caller applies it. Undefined
 * when the run does not change: a result is still open, the stage has ended already, or its verdict is deferred, and
 * a job reports it. The transaction has locked the run's workspace.
 */
export async function settleStage(ctx: TransactionCtx, stageId: string): Promise<Change | undefined> {
  const verdict = stageVerdict(await listResults(ctx.db, [stageId]))
  if (!verdict) return undefined
  const ended = await store.endStage(ctx.db, stageId, { ...verdict, now: ctx.now() })
  if (!ended) return undefined
  // Nothing stops a run that has been applied.
  const stops = verdict.status !== 'passed' && ended.stage !== 'post_apply'
  if (!stops) return {}

  const until = ended.stage === 'pre_plan' ? undefined : deferredUntil(ended.started_at, ctx.now(), VERDICT_DEFERRAL_MS)
  if (until === undefined) return { run: { error: verdict.message } }
  await store.deferVerdict(ctx.db, stageId, until)
  await announceRuns(ctx, [ended.run_id])
  await ctx.jobs.enqueue(ctx.db, endDeferralJob, { runId: ended.run_id }, { startAfter: until })
  return undefined
}
