import {
  type PhaseStatus,
  RUN_STATUS_TABLE,
  type RunStatus,
  hasPhaseEnded,
  isFinal,
} from '@groundstate/contract/run-status'
import type { OperationNodeSource, Selectable, Updateable } from 'kysely'
import type { Ctx } from '../../../app.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import type { LockedJob, LockedPhase, LockedRun, RunRow } from './locked-run-store.ts'
import { type Effects, type JobOutcome, type MachineRun, type RunFacts, advance, effectsOf } from './machine.ts'
import { type NewJob, poolTopic, queueClass } from './queued-job-store.ts'
import type { NewRunEvent } from './run-event-store.ts'

/** A change of a run, saved together with the transitions that it causes. */
export type Change = {
  job?: JobOutcome
  requested?: RunFacts['requested']
  run?: Partial<Omit<RunRow, 'status_timestamps' | 'variables'>>
  plan?: Updateable<Schema['phases']>
  apply?: Updateable<Schema['phases']>
  events?: readonly NewRunEvent[]
  /** The job is over although its phase does not end yet. */
  endsJob?: boolean
  /** The job was handed back before it had begun, which does not count as an attempt. */
  isRequeued?: boolean
  /** The job that this may queue is for the caller, who tells of it unless it takes it in the same transaction. */
  isQuiet?: boolean
  /** Writes for the same statement; see `writeTogether`. */
  writes?: readonly OperationNodeSource[]
}

/** The rows that a change and its effects write. */
export type Transition = {
  path: RunStatus[]
  status: RunStatus
  run: Updateable<Schema['runs']>
  plan: Updateable<Schema['phases']> | undefined
  apply: Updateable<Schema['phases']> | undefined
  job: NewJob | undefined
  workspace: WorkspaceChange | undefined
  /** The run as the KPIs of its workspace count it, if it has just ended in a way that they count. */
  ended: EndedRun | undefined
  /** The run goes to the end of the queue, in which it was not before. */
  entersQueue: boolean
  /** Signals of the change. */
  topics: string[]
  /** The signal to one of those that wait for the job. */
  jobTopic: string | undefined
  effects: Effects
}

/** Durations in ms; null for a phase that did not run. */
export type EndedRun = { number: number; isFailure: boolean; planMs: number | null; applyMs: number | null }

type WorkspaceChange = Partial<Omit<Selectable<Schema['workspaces']>, 'vcs_repo'>>
type TransitionCtx = Pick<Ctx, 'now' | 'newId'>

/** Works out what `change` does to a run; writes nothing. */
export function transitionOf(
  ctx: TransitionCtx,
  locked: LockedRun,
  change: Change,
  stages: RunFacts['stages'] = {},
): Transition {
  const now = ctx.now()
  const before = { ...locked.run, ...change.run }
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
  const facts: RunFacts = {
    turn: isTurn(locked),
    job: change.job ?? jobOutcome(locked, now),
    stages,
    stale: before.save_plan && before.base_state_version_id !== locked.workspace.current_state_version_id,
    requested: change.requested ?? (before.cancel_requested_at === null ? 'none' : 'cancel'),
  }
  const path = advance(run, facts)
  const found = effectsOf(run, path)
  const effects = change.endsJob ? { ...found, endsJob: true } : found
  const status = path.at(-1) ?? run.status
  const stamps = Object.fromEntries(path.map((step) => [step, now.toISOString()]))
  const timestamps = { ...(before.status_timestamps as Record<string, string>), ...stamps }
  const isStale = status === 'errored' && (path.at(-2) ?? run.status) === 'confirmed'
  const [plan, apply] = [
    phaseChange(locked.plan, effects.plan, change.plan, now),
    phaseChange(locked.apply, effects.apply, change.apply, now),
  ]
  const enqueue =
    effects.enqueue && newJob(ctx, locked, { kind: effects.enqueue, isRepeat: change.isRequeued ?? false })

  return {
    path,
    status,
    run: {
      ...change.run,
      ...(path.length > 0 && { status, status_timestamps: JSON.stringify(timestamps) }),
      ...(effects.occupies !== before.occupies && { occupies: effects.occupies }),
      ...(effects.waits !== before.waits && { waits: effects.waits }),
      ...(isStale && { error: STALE }),
      updated_at: now,
    },
    plan,
    apply,
    job: enqueue,
    workspace: workspaceChange(locked, { effects, status, now, before }),
    ended: path.length > 0 ? endedRun(locked, { status, plan, apply }) : undefined,
    entersQueue: effects.waits && !before.waits && before.status !== 'pending',
    // An agent knows of every other end: it has reported it.
    topics: locked.job && status === 'force_canceled' ? [`job:${locked.job.id}`] : [],
    jobTopic: enqueue && change.isQuiet !== true ? poolTopic(enqueue.agent_pool_id) : undefined,
    effects,
  }
}

const STALE = 'the state has moved on since this plan was made: make a new plan'

function isTurn({ workspace, run, isFirst }: LockedRun) {
  if (workspace.active_run_id !== null || workspace.locked_by_type !== null) return false
  return run.waits ? isFirst : workspace.waiting_runs === 0
}

function jobOutcome({ job, run, plan, apply }: LockedRun, now: Date): JobOutcome {
  if (job) return job.status === 'running' ? 'running' : 'queued'
  const phase = run.status === 'applying' ? apply : plan
  if (phase.held_until === null) return 'queued'
  return phase.held_until <= now ? 'errored' : 'deferred'
}

function phaseChange(
  phase: LockedPhase,
  status: PhaseStatus | undefined,
  change: Updateable<Schema['phases']> | undefined,
  now: Date,
): Updateable<Schema['phases']> | undefined {
  if (status === undefined || hasPhaseEnded(phase.status)) return change
  const timestamps = { ...phase.status_timestamps, [status]: now.toISOString() }
  return {
    ...change,
    status,
    status_timestamps: JSON.stringify(timestamps),
    ...(hasPhaseEnded(status) && { ended_at: now, held_until: null }),
  }
}

const MAX_ATTEMPTS = 3

/** Whether a job whose lease expired may be tried again: an apply never, a plan a few times. */
export function mayRetry(job: Pick<LockedJob, 'kind' | 'attempt'>) {
  return job.kind === 'plan' && job.attempt < MAX_ATTEMPTS
}

function newJob(
  ctx: TransitionCtx,
  locked: LockedRun,
  { kind, isRepeat }: { kind: 'plan' | 'apply'; isRepeat: boolean },
): NewJob {
  const { run, plan, apply, job } = locked
  return {
    id: ctx.newId('job'),
    run_id: run.id,
    organization_id: run.organization_id,
    workspace_id: run.workspace_id,
    class: queueClass(kind, run.plan_only),
    phase_id: kind === 'plan' ? plan.id : apply.id,
    kind,
    agent_pool_id: run.agent_pool_id,
    attempt: job?.kind === kind ? job.attempt + (isRepeat ? 0 : 1) : 1,
    status: 'queued',
    preferred_agent_id: kind === 'apply' ? locked.planAgentId : null,
    queued_at: ctx.now(),
    engine: {
      product: kind === 'plan' && run.engine_is_open ? null : run.engine_product,
      version: run.engine_version,
      required: run.engine_version_required,
    },
  }
}

type Settled = { effects: Effects; status: RunStatus; now: Date; before: LockedRun['run'] }

function workspaceChange(
  { workspace, run, isConfigurationNewer }: LockedRun,
  { effects, status, now, before }: Settled,
) {
  const change: WorkspaceChange = {}
  if (effects.occupies && !before.occupies) {
    Object.assign(change, { active_run_id: run.id, ...currentRunColumns({ ...run, status }) })
    Object.assign(change, { locked_by_type: 'run', locked_by_id: run.id, locked_at: now, locked_reason: null })
  }
  if (effects.releases) {
    change.active_run_id = null
    if (workspace.locked_by_type === 'run' && workspace.locked_by_id === run.id) {
      Object.assign(change, { locked_by_type: null, locked_by_id: null, locked_at: null, locked_reason: null })
    }
  }
  if (effects.waits !== before.waits) change.waiting_runs = workspace.waiting_runs + (effects.waits ? 1 : -1)
  // A provisional configuration becomes that of the workspace with its first apply, unless a newer one is.
  if (status === 'applied' && isConfigurationNewer)
    change.current_configuration_version_id = run.configuration_version_id
  if (workspace.current_run_id === run.id && isFinal(status) !== isFinal(run.status))
    Object.assign(change, currentRunColumns({ ...run, status }))
  const drift = driftAfter(run, { effects, hasChanges: before.has_changes })
  const isKnown = workspace.has_drift !== null || run.refresh_only
  if (drift !== undefined && drift !== workspace.has_drift && isKnown) change.has_drift = drift
  return Object.keys(change).length === 0 ? undefined : change
}

/** The workspace's columns of its current run. The status is written only when final, so that few changes write the workspace. */
export function currentRunColumns({ id, status, created_at }: Pick<RunRow, 'id' | 'status' | 'created_at'>) {
  return {
    current_run_id: id,
    current_run_created_at: created_at,
    current_run_final_status: isFinal(status) ? status : null,
  }
}

export type CurrentRunColumns = ReturnType<typeof currentRunColumns>

/**
 * Whether there is drift now; undefined where the run does not tell. A plan that only refreshes tells, and after an apply there is none.
 * With targets, a plan that finds nothing and an apply have not looked everywhere.
 */
function driftAfter(
  { refresh, refresh_only, target_addrs }: RunRow,
  { effects, hasChanges }: { effects: Effects; hasChanges: boolean },
) {
  const isWhole = target_addrs.length === 0
  if (effects.applied) return refresh && isWhole ? false : undefined
  const hasPlanned = refresh_only && effects.plan === 'finished'
  return hasPlanned && (hasChanges || isWhole) ? hasChanges : undefined
}

type Phases = { plan: Transition['plan']; apply: Transition['apply'] }

function endedRun(
  { run, ...phases }: LockedRun,
  { status, plan, apply }: Phases & { status: RunStatus },
): EndedRun | undefined {
  const { kpi } = RUN_STATUS_TABLE[status]
  if (kpi === undefined) return undefined
  return {
    number: run.number,
    isFailure: kpi === 'failure',
    planMs: durationOf(phases.plan, plan),
    applyMs: durationOf(phases.apply, apply),
  }
}

function durationOf(phase: LockedPhase, change: Updateable<Schema['phases']> | undefined) {
  const status = change?.status ?? phase.status
  const stamps =
    change?.status_timestamps === undefined
      ? phase.status_timestamps
      : (JSON.parse(change.status_timestamps) as Record<string, string>)
  const { running, [status]: end } = stamps
  return running === undefined || end === undefined || !hasPhaseEnded(status)
    ? null
    : Date.parse(end) - Date.parse(running)
}
