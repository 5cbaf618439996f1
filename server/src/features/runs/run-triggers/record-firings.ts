import type { TransactionCtx } from '../../../app.ts'
import type { RunRow } from '../runs/locked-run.ts'
import { fireJob } from './fire-job.ts'
import * as store from './firing-store.ts'

/**
 * Records in the transaction of an apply which triggers it fires, and enqueues the jobs that start the runs. The jobs
 * wait for a moment: what else is applied meanwhile joins the same run.
 */
export async function recordFirings(ctx: TransactionCtx, run: RunRow) {
  const now = ctx.now()
  const fireAt = new Date(now.getTime() + ctx.config.triggerDelay)
  const workspaceIds = await store.insertFirings(ctx.db, run, { now, fireAt })
  const jobs = workspaceIds.map((workspaceId) => ({ workspaceId }))
  if (jobs.length > 0) await ctx.jobs.enqueueAll(ctx.db, fireJob, jobs, { startAfter: fireAt })
}
