import type { RawBuilder } from 'kysely'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import type { LockedRun } from '../runs/locked-run-store.ts'
import { type JobKey, type LockedLease, lockRunOfJob } from './store.ts'

/** The rows that `changeRunOfJob` found and locked; `answers` are the rows of the caller's statements. */
type RunOfJob<Row> = { locked: LockedRun; lease: LockedLease; responses: readonly Row[][] }

/**
 * Locks the run of a job, then the job, and calls `change`; returns false, and does nothing, when the job has ended. An append to
 * the log locks the job and then writes its chunk: who writes to that log too locks the job first, or they wait for each other.
 * Statements `along` with the locks are executed whether the job has ended or not.
 */
export async function changeRunOfJob<Row = unknown>(
  ctx: Ctx,
  job: JobKey,
  { along }: { along?: readonly RawBuilder<Row>[] },
  change: (ctx: TransactionCtx, found: RunOfJob<Row>) => Promise<void>,
): Promise<boolean> {
  return transact({ ...ctx, actor: SYSTEM }, async (ctx) => {
    const { locked, lease, responses } = await lockRunOfJob(ctx.db, job, along)
    if (locked?.job?.id !== job.id || locked.job.status !== 'running' || !lease) return false
    await change(ctx, { locked, lease, responses })
    return true
  })
}
