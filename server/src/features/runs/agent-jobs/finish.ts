import type { AgentJob, FinishJob } from '@groundstate/contract/agent'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { applyChange } from '../runs/advance.ts'
import { applyDeferredUntil, endDeferralJob } from '../runs/deferral.ts'
import type { LockedRun, RunRow } from '../runs/locked-run-store.ts'
import { poolTopic } from '../runs/queued-job-store.ts'
import type { NewRunEvent } from '../runs/run-event-store.ts'
import type { Change } from '../runs/transition.ts'
import { acceptsLate } from './access.ts'
import { changeRunOfJob } from './change-run.ts'
import { claimApply } from './claim.ts'
import { recordLateResult } from './late-results.ts'
import { insertNotice } from './log-store.ts'
import { type LogPart, announceLog, checkRest, insertRest, restInsert } from './log.ts'
import { type Job, appliesByItself, countColumns } from './store.ts'

/** The result of a job; `log` is the rest of its log, as in `PUT /log`. */
type JobEnd = FinishJob & { log?: LogPart }

/**
 * Records the result of a job and lets the run advance. Does nothing when the job has ended already, unless it is an apply that
 * was lost. With `takesApply` the agent of a plan gets the job of the apply that comes next, if it may have it: then that is returned.
 */
export async function finishJob(
  ctx: Ctx,
  job: Job,
  { log, ...body }: JobEnd,
  { takesApply }: { takesApply: boolean } = { takesApply: false },
): Promise<AgentJob | undefined> {
  let next: AgentJob | undefined
  // It is stored as the job is locked, and not at all when the job has ended.
  const rest = log && restInsert(ctx, job, log)
  const along = rest === undefined ? [] : [rest]
  const isRecorded = await changeRunOfJob(ctx, job, { along }, async (ctx, { locked, lease, responses }) => {
    const { message } = body
    const [stored] = responses[0] ?? []
    if (log !== undefined && stored !== undefined) checkRest(stored, log)
    if (message !== undefined) await insertNotice(ctx.db, locked[job.kind].id, message, { unlessRepeated: true })
    const change = job.kind === 'plan' ? planEnd(ctx, locked, body) : applyEnd(ctx, locked, body)
    const goesOn = takesApply && job.kind === 'plan' && body.hasChanges === true && appliesByItself(locked.run)
    await applyChange(ctx, locked, { ...change, events: eventsOf(body), skipsJobSignal: goesOn })
    const startAfter = change.apply?.held_until
    if (startAfter instanceof Date)
      await ctx.jobs.enqueue(ctx.db, endDeferralJob, { runId: job.run_id }, { startAfter })
    next = goesOn ? await giveApply(ctx, locked.run, lease.agent_id) : undefined
  })
  if (isRecorded && log !== undefined) announceLog(ctx, job)
  if (isRecorded) return next
  if (log !== undefined && acceptsLate(job, ctx.now())) await insertRest(ctx, job, log)
  await recordLateResult(ctx, job, body)
  return undefined
}

/** Gives the apply that has just been queued to the agent of its plan, or else tells all agents of it. */
async function giveApply(ctx: TransactionCtx, run: RunRow, agentId: string | null): Promise<AgentJob | undefined> {
  const key = { id: run.id, workspaceId: run.workspace_id, organizationId: run.organization_id }
  const job = agentId === null ? undefined : await claimApply(ctx, { ...key, agentId })
  if (!job) ctx.signals.publishToOne(ctx.db, poolTopic(run.agent_pool_id))
  return job
}

function planEnd(ctx: Ctx, { run }: LockedRun, body: FinishJob): Change {
  const isOwed = body.owesDocuments === true && body.status === 'finished' && body.hasChanges === true
  return {
    job: body.status,
    // From now on the run has the engine that made its plan.
    run: { ...resultColumns(body), has_changes: body.hasChanges ?? false, engine_is_open: false },
    plan: {
      ...countColumns(body),
      has_changes: body.hasChanges ?? false,
      generated_configuration: body.generatedConfiguration ?? false,
      ...(isOwed && appliesByItself(run) && { documents_owed_at: ctx.now() }),
    },
  }
}

function applyEnd(ctx: Ctx, { run }: LockedRun, body: FinishJob): Change {
  // A person who has confirmed an apply has seen the end of its plan.
  const mayDefer = body.status === 'errored' && run.auto_apply
  const until = mayDefer ? applyDeferredUntil(run, ctx.now()) : undefined
  return {
    job: until === undefined ? body.status : 'deferred',
    run: resultColumns(body),
    apply: {
      ...countColumns(body),
      ...(until !== undefined && { held_until: until }),
    },
    endsJob: true,
  }
}

/** Adds the agent's message to the history of the run. A cancellation is there already, with its user. */
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
