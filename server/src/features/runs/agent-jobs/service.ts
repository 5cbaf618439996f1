import type { AgentJob, JobCommand } from '@groundstate/contract/agent'
import type { RawBuilder } from 'kysely'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { tokenHash } from '../../../auth/tokens.ts'
import { transact } from '../../../db/db.ts'
import { RENEWAL_THRESHOLD } from '../../workspaces/workspaces/waiting.ts'
import { applyChange } from '../runs/advance.ts'
import type { LockedRun } from '../runs/locked-run-store.ts'
import type { Change } from '../runs/transition.ts'
import { checkRunning, jobEnded, requireAnyJob } from './access.ts'
import { insertNotice } from './log-store.ts'
import * as store from './store.ts'

/** Signals agents whose jobs this transaction deletes: they stop the engine, which could otherwise run for hours. */
export async function abandonJobs(ctx: TransactionCtx, scope: store.JobScope) {
  for (const { id } of await store.lockOpenJobs(ctx.db, scope)) ctx.signals.publish(ctx.db, `job:${id}`)
}

/** The locked rows of a job's run; `responses` are the rows of the caller's statements. */
export type RunOfJob<Row> = { locked: LockedRun; lease: store.LockedLease; responses: readonly Row[][] }

/**
 * Locks the run of a job, then the job, and calls `change`. Does nothing and returns false if the job has ended. An append to the log
 * locks the job before it writes its chunk; other writers of that log must do so too, or they deadlock. `statements` are executed with
 * the locks, whether or not the job has ended.
 */
export async function changeRunOfJob<Row = unknown>(
  ctx: Ctx,
  job: store.JobKey,
  change: (ctx: TransactionCtx, run: RunOfJob<Row>) => Promise<void>,
  statements: readonly RawBuilder<Row>[] = [],
): Promise<boolean> {
  return transact({ ...ctx, actor: SYSTEM }, async (ctx) => {
    const { locked, lease, responses } = await store.lockRunOfJob(ctx.db, job, statements)
    if (locked?.job?.id !== job.id || locked.job.status !== 'running' || !lease) return false
    await change(ctx, { locked, lease, responses })
    return true
  })
}

/** Attempts at a phase, lost plans included, after which a job that comes back without a result ends its run. */
export const MAX_ATTEMPTS = 10

type Requeue = Pick<RunOfJob<unknown>, 'locked' | 'lease'>

/** Requeues a job that came back without a result, or ends its run with `error` after the last attempt. */
export async function requeue(ctx: TransactionCtx, { locked, lease }: Requeue, error: string) {
  const isLast = lease.attempt >= MAX_ATTEMPTS
  if (isLast) await insertNotice(ctx.db, lease.phase_id, error)
  await applyChange(ctx, locked, isLast ? lostWith(error) : { job: 'retry' })
}

export function lostWith(error: string): Change {
  return { job: 'lost', run: { error }, events: [{ action: 'errored', description: error }] }
}

export function agentOf({ agent_name }: Pick<store.LockedLease, 'agent_name'>) {
  return `the agent ${agent_name ?? ''}`.trim()
}

/** Requeues a job that its agent returned before it started, or as it stops. */
export async function releaseJob(ctx: Ctx, job: store.JobKey) {
  await changeRunOfJob(ctx, job, async (ctx, { locked, lease }) => {
    const error =
      `${agentOf(lease)} returned the ${lease.kind}, the last of ${MAX_ATTEMPTS} attempts without a result. ` +
      'Check the logs of the agents, and whether they are being stopped'
    await requeue(ctx, { locked, lease }, error)
  })
}

/** Requeues a job whose agent has disconnected before it received the job. */
export async function requeueJob(ctx: Ctx, { id, runId, workspaceId }: AgentJob) {
  await changeRunOfJob(ctx, { id, run_id: runId, workspace_id: workspaceId }, async (ctx, { locked }) => {
    await applyChange(ctx, locked, { job: 'retry', keepsAttempt: true })
  })
}

type Heartbeat = { token: string | undefined; waitMs: number; seen: JobCommand; signal: AbortSignal }

/** Renews a lease and waits for a command that the agent has not `seen`. Throws `conflict` for an ended job, unless a forced cancel ended it. */
export async function receiveHeartbeat(ctx: Ctx, jobId: string, { token, waitMs, seen, signal }: Heartbeat) {
  // Without a wait, as in an acknowledgement, the statement that renews the lease authenticates its sender.
  const hash = waitMs > 0 || token === undefined ? undefined : tokenHash(token)
  const renewed = hash && (await store.renewLeaseOf(ctx.db, { id: jobId, hash }, ctx.now()))
  if (renewed !== undefined) return renewed === 'continue' ? seen : renewed

  using signals = ctx.signals.subscribe(`job:${jobId}`)
  const readCommand = async () => newCommand(await requireAnyJob(ctx, jobId, token), seen)
  const job = await requireAnyJob(ctx, jobId, token)
  const command = newCommand(job, seen)
  if (command !== undefined) return command
  if (!(await renew(ctx, job))) {
    // The job has ended in the meantime, for example by a forced cancel.
    const last = await readCommand()
    if (last === undefined) throw jobEnded(job.id)
    return last
  }
  const end = performance.now() + waitMs
  // A late signal may be about a command that the agent has seen: continue waiting.
  while (await signals.next({ timeoutMs: Math.max(0, end - performance.now()), signal })) {
    const next = await readCommand()
    if (next !== undefined) return next
  }
  return signal.aborted ? seen : ((await readCommand()) ?? seen)
}

function newCommand(job: store.Job, seen: JobCommand): JobCommand | undefined {
  const isReported = job.status === 'running' || job.command === 'force-cancel'
  if (isReported && job.command !== seen && job.command !== 'continue') return job.command
  checkRunning(job)
  return undefined
}

async function renew(ctx: Ctx, job: store.Job): Promise<boolean> {
  const expiry = ctx.now().getTime() + job.lease_ms
  const isFresh = job.lease_expires_at && job.lease_expires_at.getTime() > expiry - RENEWAL_THRESHOLD * job.lease_ms
  return isFresh || store.renewLease(ctx.db, job.id, new Date(expiry))
}
