import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { lockRun } from '../runs/locked-run-store.ts'
import type { LockedRun } from '../runs/locked-run.ts'
import type { JobKey } from './store.ts'

/** Locks the run of a job and calls `change`; returns false, and does nothing, when the job has ended. */
export async function changeRunOfJob(
  ctx: Ctx,
  job: JobKey,
  change: (ctx: TransactionCtx, locked: LockedRun) => Promise<void>,
): Promise<boolean> {
  return transact({ ...ctx, actor: SYSTEM }, async (ctx) => {
    const locked = await lockRun(ctx.db, { id: job.run_id, workspaceId: job.workspace_id })
    if (locked?.job?.id !== job.id || locked.job.status !== 'running') return false
    await change(ctx, locked)
    return true
  })
}
