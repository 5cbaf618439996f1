import type { JobCommand } from '@groundstate/contract/agent'
import type { Ctx } from '../../../app.ts'
import { LEASE_MS } from './claim.ts'
import { checkRunning, type Job, requireAnyJob } from './job.ts'

/** A lease that was renewed this recently, in ms, is not written again. */
const FRESH_MS = 3000

/**
 * Renews the lease of a job, and waits up to `waitMs` for a command that the agent has not `seen`. Throws `conflict` once
 * the job is no longer the agent's; a forced cancel ends the job, and is still told.
 */
export async function beat(
  ctx: Ctx,
  jobId: string,
  { token, waitMs, seen, signal }: { token: string | undefined; waitMs: number; seen: JobCommand; signal: AbortSignal },
): Promise<JobCommand> {
  using signals = ctx.signals.subscribe(`job:${jobId}`)
  const job = await requireAnyJob(ctx, jobId, token)
  const told = command(job, seen)
  if (told !== undefined) return told
  await renew(ctx, job)
  const end = performance.now() + waitMs
  // What wakes it may be the late announcement of what the agent has seen: then it goes on waiting.
  while (await signals.next({ timeoutMs: Math.max(0, end - performance.now()), signal })) {
    const next = command(await requireAnyJob(ctx, jobId, token), seen)
    if (next !== undefined) return next
  }
  if (signal.aborted) return seen
  return command(await requireAnyJob(ctx, jobId, token), seen) ?? seen
}

function command(job: Job, seen: JobCommand): JobCommand | undefined {
  if (job.command !== seen && job.command !== 'continue') return job.command
  checkRunning(job)
  return undefined
}

async function renew(ctx: Ctx, job: Job) {
  const now = ctx.now()
  const expiry = now.getTime() + LEASE_MS
  if (job.lease_expires_at !== null && job.lease_expires_at.getTime() > expiry - FRESH_MS) return
  await ctx.db
    .updateTable('agent_jobs')
    .set({ lease_expires_at: new Date(expiry) })
    .where('id', '=', job.id)
    .where('status', '=', 'running')
    .execute()
}
