import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import type { LockedRun } from '../runs/locked-run.ts'
import { type JobKey, type LockedLease, lockRunOfJob } from './store.ts'

/**
 * Locks the run of a job, then the job, and calls `change`; returns false, and does nothing, when the job has ended. An append to
 * the log locks the job and then writes its chunk: who writes to that log too locks the job first, or they wait for each other.
 */
export async function changeRunOfJob(
  ctx: Ctx,
  job: JobKey,
  change: (ctx: TransactionCtx, locked: LockedRun, lease: LockedLease) => Promise<void>,
): Promise<boolean> {
  return transact({ ...ctx, actor: SYSTEM }, async (ctx) => {
    const { locked, lease } = await lockRunOfJob(ctx.db, job)
    if (locked?.job?.id !== job.id || locked.job.status !== 'running' || !lease) return false
    await change(ctx, locked, lease)
    return true
  })
}
