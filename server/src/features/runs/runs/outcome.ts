import type { Insertable, OperationNodeSource, Selectable, Updateable } from 'kysely'
import type { Ctx } from '../../../app.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { isPhaseOver, type PhaseStatus } from '../plans/status.ts'
import type { HeldJob, HeldPhase, HeldRun, RunRow } from './held.ts'
import { advance, type Consequences, consequences, type Facts, type JobOutcome, type MachineRun } from './machine.ts'
import type { RunStatus } from './status.ts'

/** What has happened to a run, to be recorded together with how far it gets. */
export type Change = {
  job?: JobOutcome
  wish?: Facts['wish']
  run?: Partial<Omit<RunRow, 'status_timestamps' | 'variables'>>
  plan?: Updateable<Schema['phases']>
  apply?: Updateable<Schema['phases']>
  events?: readonly NewEvent[]
  /** The job is over although its phase does not end yet. */
  endsJob?: boolean
  /** The job was handed back before it had begun: that was no attempt. */
  isHandedBack?: boolean
  /** Writes for the same statement; see `writeTogether`. */
  writes?: readonly OperationNodeSource[]
}
export type NewEvent = {
  action: string
  description?: string | null
  commentId?: string | null
  actorUserId?: string | null
}

/** The rows that a change and its consequences write. */
export type Outcome = {
  path: RunStatus[]
  status: RunStatus
  run: Updateable<Schema['runs']>
  plan: Updateable<Schema['phases']> | undefined
  apply: Updateable<Schema['phases']> | undefined
  job: Insertable<Schema['agent_jobs']> | undefined
  workspace: WorkspaceChange | undefined
  /** The run takes a place at the end of the line, in which it did not stand before. */
  entersLine: boolean
  topics: string[]
  follows: Consequences
}

type WorkspaceChange = Partial<Omit<Selectable<Schema['workspaces']>, 'vcs_repo'>>
type OutcomeCtx = Pick<Ctx, 'now' | 'newId'>

/** Works out what `change` does to a run; nothing is written yet. */
export function outcome(ctx: OutcomeCtx, held: HeldRun, change: Change, stages: Facts['stages'] = {}): Outcome {
  const now = ctx.now()
  const before = { ...held.run, ...change.run }
  const run: MachineRun = {
    status: before.status,
    planOnly: before.plan_only,
    savePlan: before.save_plan,
    autoApply: before.auto_apply,
    allowEmptyApply: before.allow_empty_apply,
    hasChanges: before.has_changes,
    occupies: before.occupies,
    confirmed: before.confirmed_at !== null,
  }
  const facts: Facts = {
    turn: isTurn(held),
    job: change.job ?? jobOutcome(held, now),
    stages,
    stale: before.save_plan && before.base_state_version_id !== held.workspace.current_state_version_id,
    wish: change.wish ?? (before.cancel_requested_at === null ? 'none' : 'cancel'),
  }
  const path = advance(run, facts)
  const found = consequences(run, path)
  const follows = change.endsJob ? { ...found, endsJob: true } : found
  const status = path.at(-1) ?? run.status
  const stamps = Object.fromEntries(path.map((step) => [step, now.toISOString()]))
  const timestamps = { ...(before.status_timestamps as Record<string, string>), ...stamps }
  const isStale = status === 'errored' && (path.at(-2) ?? run.status) === 'confirmed'
  const enqueue =
    follows.enqueue && newJob(ctx, held, { kind: follows.enqueue, isRepeat: change.isHandedBack ?? false })

  return {
    path,
    status,
    run: {
      ...change.run,
      ...(path.length > 0 && { status, status_timestamps: JSON.stringify(timestamps) }),
      ...(follows.occupies !== before.occupies && { occupies: follows.occupies }),
      ...(follows.waits !== before.waits && { waits: follows.waits }),
      ...(isStale && { error: STALE }),
      updated_at: now,
    },
    plan: phaseChange(held.plan, follows.plan, change.plan, now),
    apply: phaseChange(held.apply, follows.apply, change.apply, now),
    job: enqueue,
    workspace: workspaceChange(held, { follows, status, now, before }),
    entersLine: follows.waits && !before.waits && before.status !== 'pending',
    topics: [
      `run:${before.id}`,
      ...(enqueue ? [`pool:${enqueue.agent_pool_id}`] : []),
      // Whoever told the end of a job need not be told.
      ...(held.job && status === 'force_canceled' ? [`job:${held.job.id}`] : []),
    ],
    follows,
  }
}

const STALE = 'the state has moved on since this plan was made: make a new plan'

function isTurn({ workspace, run, first }: HeldRun) {
  if (workspace.active_run_id !== null || workspace.locked_by_type !== null) return false
  return run.waits ? first : workspace.waiting_runs === 0
}

function jobOutcome({ job, run, plan, apply }: HeldRun, now: Date): JobOutcome {
  if (job) return job.status === 'running' ? 'running' : 'queued'
  const phase = run.status === 'applying' ? apply : plan
  if (phase.held_until === null) return 'queued'
  return phase.held_until <= now || phase.log_opened_at !== null ? 'errored' : 'held'
}

function phaseChange(
  phase: HeldPhase,
  status: PhaseStatus | undefined,
  change: Updateable<Schema['phases']> | undefined,
  now: Date,
): Updateable<Schema['phases']> | undefined {
  if (status === undefined || isPhaseOver(phase.status)) return change
  const timestamps = { ...phase.status_timestamps, [status]: now.toISOString() }
  return {
    ...change,
    status,
    status_timestamps: JSON.stringify(timestamps),
    ...(isPhaseOver(status) && { ended_at: now, held_until: null }),
  }
}

const MAX_ATTEMPTS = 3

/** Whether a plan that lost its agent may be tried once more. */
export function mayRetry(job: Pick<HeldJob, 'kind' | 'attempt'>) {
  return job.kind === 'plan' && job.attempt < MAX_ATTEMPTS
}

function newJob(
  ctx: OutcomeCtx,
  held: HeldRun,
  { kind, isRepeat }: { kind: 'plan' | 'apply'; isRepeat: boolean },
): Insertable<Schema['agent_jobs']> {
  const { run, plan, apply, job } = held
  return {
    id: ctx.newId('job'),
    run_id: run.id,
    phase_id: kind === 'plan' ? plan.id : apply.id,
    kind,
    agent_pool_id: run.agent_pool_id,
    attempt: job?.kind === kind ? job.attempt + (isRepeat ? 0 : 1) : 1,
    status: 'queued',
    preferred_agent_id: kind === 'apply' ? held.planAgentId : null,
    queued_at: ctx.now(),
  }
}

type Moved = { follows: Consequences; status: RunStatus; now: Date; before: HeldRun['run'] }

function workspaceChange({ workspace, run }: HeldRun, { follows, status, now, before }: Moved) {
  const change: WorkspaceChange = {}
  if (follows.occupies && !before.occupies) {
    Object.assign(change, { active_run_id: run.id, current_run_id: run.id })
    Object.assign(change, { locked_by_type: 'run', locked_by_id: run.id, locked_at: now, locked_reason: null })
  }
  if (follows.releases) {
    change.active_run_id = null
    if (workspace.locked_by_type === 'run' && workspace.locked_by_id === run.id) {
      Object.assign(change, { locked_by_type: null, locked_by_id: null, locked_at: null, locked_reason: null })
    }
  }
  if (follows.waits !== before.waits) change.waiting_runs = workspace.waiting_runs + (follows.waits ? 1 : -1)
  // A provisional configuration becomes the workspace's own with the first apply of it.
  if (status === 'applied' && workspace.current_configuration_version_id !== run.configuration_version_id)
    change.current_configuration_version_id = run.configuration_version_id
  return Object.keys(change).length === 0 ? undefined : change
}
