import type { AgentJob, FinishJob, InstalledParts } from '@groundstate/contract/agent'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { domainEvent, raise } from '../../../events.ts'
import { LATE_RESULT_WINDOW_MS, artifactKey, ifStored } from '../plans/artifact.ts'
import { applyChange } from '../runs/advance.ts'
import { applyDeferredUntil, endDeferralJob } from '../runs/deferral.ts'
import { type LockedRun, type RunRow, lockRun } from '../runs/locked-run-store.ts'
import { poolTopic } from '../runs/queued-job-store.ts'
import type { NewRunEvent } from '../runs/run-event-store.ts'
import type { Change } from '../runs/transition.ts'
import { acceptsLateResult } from './access.ts'
import { claimApply } from './claim.ts'
import { type ChunkedLog, insertNotice } from './log-store.ts'
import { type LogPart, announceLog, checkRest, insertRest, restInsert } from './log.ts'
import { type RunOfJob, agentOf, changeRunOfJob } from './service.ts'
import { type Job, type LockedLease, appliesImmediately, countColumns, lockLostApply, markLateResult } from './store.ts'

/** A plan that may be applied has installed parts of the registry, or no longer does. Raised in the transaction of its result. */
export const planInstalled = domainEvent<{ run: RunRow; installed: InstalledParts }>('plan.installed')

/** The result of a job; `log` is the rest of its log, as in `PUT /log`. */
type JobEnd = FinishJob & { log?: LogPart }

/** Records a result and advances the run, unless the job has ended and is no lost apply. With `takesApply` may return the apply's job. */
export async function finishJob(ctx: Ctx, job: Job, { log, ...body }: JobEnd, { takesApply = false } = {}) {
  let next: AgentJob | undefined
  // Executed with the lock of the job, and without effect if the job has ended.
  const rest = log && restInsert(ctx, job, log)
  const change = async (ctx: TransactionCtx, { locked, lease, responses }: RunOfJob<ChunkedLog>) => {
    const { message } = body
    const [stored] = responses[0] ?? []
    if (log !== undefined && stored !== undefined) checkRest(stored, log)
    if (message !== undefined) await insertNotice(ctx.db, locked[job.kind].id, message, { unlessRepeated: true })
    const end = job.kind === 'plan' ? planEnd(ctx, locked, body) : applyEnd(ctx, locked, body)
    const continues = takesApply && job.kind === 'plan' && body.hasChanges === true && appliesImmediately(locked.run)
    await applyChange(ctx, locked, { ...end, events: eventsOf(body), skipsJobSignal: continues })
    const startAfter = end.apply?.deferred_until
    if (startAfter instanceof Date)
      await ctx.jobs.enqueue(ctx.db, endDeferralJob, { runId: job.run_id }, { startAfter })
    if (hasInstalled(locked.run, body, lease))
      await raise(ctx, planInstalled, { run: locked.run, installed: body.installed })
    if (continues) next = await assignApply(ctx, locked.run, lease.agent_id)
  }
  if (await changeRunOfJob(ctx, job, change, rest ? [rest] : [])) {
    if (log !== undefined) announceLog(ctx, job)
    return next
  }
  if (log !== undefined && acceptsLateResult(job, ctx.now())) await insertRest(ctx, job, log)
  await recordLateResult(ctx, job, body)
  return undefined
}

type WithInstalled = FinishJob & { installed: InstalledParts }

function hasInstalled(run: RunRow, body: FinishJob, lease: LockedLease): body is WithInstalled {
  if (lease.kind !== 'plan' || run.plan_only || body.installed === undefined) return false
  const { modules, providers } = body.installed
  return modules.length > 0 || providers.length > 0 || lease.uses_registry
}

/** Leases the queued apply to the agent of its plan, or else signals it to the pool. */
async function assignApply(ctx: TransactionCtx, run: RunRow, agentId: string | null): Promise<AgentJob | undefined> {
  const key = { id: run.id, workspaceId: run.workspace_id, organizationId: run.organization_id }
  const job = agentId === null ? undefined : await claimApply(ctx, { ...key, agentId })
  if (!job) ctx.signals.publishToOne(ctx.db, poolTopic(run.agent_pool_id))
  return job
}

function planEnd(ctx: Ctx, { run }: LockedRun, body: FinishJob): Change {
  const isPending = body.owesDocuments === true && body.status === 'finished' && body.hasChanges === true
  return {
    job: body.status,
    // The apply must use the engine of the plan.
    run: { ...resultColumns(body), has_changes: body.hasChanges ?? false, engine_is_open: false },
    plan: {
      ...countColumns(body),
      has_changes: body.hasChanges ?? false,
      generated_configuration: body.generatedConfiguration ?? false,
      ...(isPending && appliesImmediately(run) && { documents_pending_since: ctx.now() }),
    },
  }
}

function applyEnd(ctx: Ctx, { run }: LockedRun, body: FinishJob): Change {
  // A user who confirmed an apply has seen the end of its plan.
  const mayDefer = body.status === 'errored' && run.auto_apply
  const until = mayDefer ? applyDeferredUntil(run, ctx.now()) : undefined
  return {
    job: until === undefined ? body.status : 'deferred',
    run: resultColumns(body),
    apply: {
      ...(body.status === 'finished' && countColumns(body)),
      ...(until !== undefined && { deferred_until: until }),
    },
    endsJob: true,
  }
}

/** The agent's message as a run event. A cancel has an event already, with its user. */
function eventsOf({ status, message }: FinishJob): NewRunEvent[] {
  if (message === undefined || status === 'canceled') return []
  return [{ action: status === 'errored' ? 'errored' : 'reported', description: message }]
}

function resultColumns({ message, status, engineVersion }: FinishJob) {
  return {
    ...(engineVersion !== undefined && { engine_version: engineVersion }),
    ...(message !== undefined && status === 'errored' && { error: message }),
  }
}

/** Records how a lost apply ended. The run stays errored, since another may have started. Does nothing for other jobs and repeated results. */
async function recordLateResult(ctx: Ctx, job: Job, body: FinishJob) {
  // Read before the transaction, which must not wait for the object store. The agent sends the state before the result.
  const errored =
    job.kind === 'apply' && (await ifStored(ctx.blobs.open(artifactKey(job.run_id, job.id, 'errored-state'))))
  if (errored) errored.destroy()
  await transact({ ...ctx, actor: SYSTEM }, async (ctx) => {
    const locked = await lockRun(ctx.db, { id: job.run_id, workspaceId: job.workspace_id })
    const since = new Date(ctx.now().getTime() - LATE_RESULT_WINDOW_MS)
    const lost = locked && (await lockLostApply(ctx.db, job.id, since))
    if (!locked || !lost) return
    const agent = agentOf(lost)
    const time = `${ctx.now().toISOString().slice(0, 19)}Z`
    const state = errored
      ? `the state that it could not store was kept: download it at ${ctx.baseUrl}/api/v2/applies/${locked.apply.id}/errored-state, ` +
        'and compare it with the state of the workspace before the next apply'
      : 'it left no unsaved state'
    const description = `${agent} reconnected at ${time}: ${describeResult(body)}; ${state}`
    await insertNotice(ctx.db, locked.apply.id, description)
    await markLateResult(ctx.db, job.id, ctx.now())
    await applyChange(ctx, locked, {
      ...(body.status === 'finished' && body.counts && { apply: countColumns(body) }),
      run: { error: description },
      events: [{ action: 'late_result', description }],
    })
  })
}

function describeResult({ status, message }: FinishJob) {
  if (status === 'finished') return 'the apply had finished'
  return `the apply had ${status === 'canceled' ? 'been canceled' : 'failed'}${message === undefined ? '' : ` (${message})`}`
}
