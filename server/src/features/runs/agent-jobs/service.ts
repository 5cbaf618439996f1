import type { AgentJob, JobCommand } from '@groundstate/contract/agent'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { tokenHash } from '../../../auth/tokens.ts'
import { applyChange } from '../runs/advance.ts'
import { checkRunning, jobGone, requireAnyJob } from './access.ts'
import { changeRunOfJob } from './change-run.ts'
import { type Job, type JobKey, type JobPlace, excuseAck, lockOpenJobs, renewLease, renewLeaseOf } from './store.ts'

/**
 * Wakes the agents with jobs in a workspace or an organization that this transaction deletes. Their heartbeats then find the job
 * deleted, and they stop the engine at once. Otherwise it could run unseen for hours.
 */
export async function abandonJobs(ctx: TransactionCtx, place: JobPlace) {
  for (const { id } of await lockOpenJobs(ctx.db, place)) ctx.signals.publish(ctx.db, `job:${id}`)
}

/** Queues a job again that an agent hands back before it has begun. It does not count as an attempt. */
export async function releaseJob(ctx: Ctx, job: JobKey) {
  await changeRunOfJob(ctx, job, {}, async (ctx, { locked }) => {
    await excuseAck(ctx.db, job.id)
    await applyChange(ctx, locked, { job: 'retry', isRequeued: true })
  })
}

/** Queues a job again that its agent has not received. */
export async function requeueJob(ctx: Ctx, { id, runId, workspaceId }: AgentJob) {
  await releaseJob(ctx, { id, run_id: runId, workspace_id: workspaceId })
}

/** A lease of which less than this part is used up is not written again. */
const FRESH = 0.1

/**
 * Renews the lease of a job, and waits up to `waitMs` for a command that the agent has not `seen`. Throws `conflict` once the
 * job is no longer the agent's, except that a forced cancel, which ends the job, is still reported.
 */
export async function receiveHeartbeat(
  ctx: Ctx,
  jobId: string,
  { token, waitMs, seen, signal }: { token: string | undefined; waitMs: number; seen: JobCommand; signal: AbortSignal },
): Promise<JobCommand> {
  // A receipt, for one: the statement that renews the lease authenticates its sender.
  const hash = waitMs > 0 || token === undefined ? undefined : tokenHash(token)
  const renewed = hash && (await renewLeaseOf(ctx.db, { id: jobId, hash }, ctx.now()))
  if (renewed !== undefined) return renewed === 'continue' ? seen : renewed

  using signals = ctx.signals.subscribe(`job:${jobId}`)
  const job = await requireAnyJob(ctx, jobId, token)
  const command = newCommand(job, seen)
  if (command !== undefined) return command
  if (!(await renew(ctx, job))) {
    // It has ended in between: by a forced cancel, for one.
    const last = newCommand(await requireAnyJob(ctx, jobId, token), seen)
    if (last === undefined) throw jobGone(job.id)
    return last
  }
  const end = performance.now() + waitMs
  // A late signal may be about a command that the agent has seen. Then the wait goes on.
  while (await signals.next({ timeoutMs: Math.max(0, end - performance.now()), signal })) {
    const next = newCommand(await requireAnyJob(ctx, jobId, token), seen)
    if (next !== undefined) return next
  }
  if (signal.aborted) return seen
  return newCommand(await requireAnyJob(ctx, jobId, token), seen) ?? seen
}

function newCommand(job: Job, seen: JobCommand): JobCommand | undefined {
  const isReported = job.status === 'running' || job.command === 'force-cancel'
  if (isReported && job.command !== seen && job.command !== 'continue') return job.command
  checkRunning(job)
  return undefined
}

async function renew(ctx: Ctx, job: Job): Promise<boolean> {
  const expiry = ctx.now().getTime() + job.lease_ms
  if (job.lease_expires_at !== null && job.lease_expires_at.getTime() > expiry - FRESH * job.lease_ms) return true
  return renewLease(ctx.db, job.id, new Date(expiry))
}
