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
import type { LockedPhase, LockedRun, RunRow } from './locked-run-store.ts'
import { type Effects, type JobOutcome, type MachineRun, type RunConditions, advance, effectsOf } from './machine.ts'
import { type NewJob, poolTopic, queueClass } from './queued-job-store.ts'
import type { NewRunEvent } from './run-event-store.ts'

type PhaseUpdate = Updateable<Schema['phases']>

/** A change of a run, saved together with the transitions that it causes. */
export type Change = {
  job?: JobOutcome
  requested?: RunConditions['requested']
  run?: Partial<Omit<RunRow, 'status_timestamps' | 'variables'>>
  plan?: PhaseUpdate
  apply?: PhaseUpdate
  events?: readonly NewRunEvent[]
  /** The job has ended although its phase continues. */
  endsJob?: boolean
  /** Requeues a job that has not left the server. */
  keepsAttempt?: boolean
  /** The caller claims the job that this queues, or else signals it. */
  skipsJobSignal?: boolean
  /** Writes for the same statement; see `writeBatch`. */
  writes?: readonly OperationNodeSource[]
}

/** The rows that a change and its effects write. */
export type Transition = {
  path: RunStatus[]
  status: RunStatus
  run: Updateable<Schema['runs']>
  plan: PhaseUpdate | undefined
  apply: PhaseUpdate | undefined
  job: NewJob | undefined
  workspace: WorkspaceChange | undefined
  /** Set if the run has just ended with a status that counts in the KPIs of its workspace. */
  ended: EndedRun | undefined
  /** The run is appended to the queue again. */
  entersQueue: boolean
  topics: string[]
  /** The topic of the queued job, published to one waiting claim. */
  jobTopic: string | undefined
  effects: Effects
}

/** Durations in ms; null for a phase that did not run. */
export type EndedRun = { number: number; isFailure: boolean; planMs: number | null; applyMs: number | null }

type WorkspaceChange = Partial<Selectable<Schema['workspaces']>>
type TransitionCtx = Pick<Ctx, 'now' | 'newId'>

/** The rows and effects of a change; writes nothing. */
export function transitionOf(
  ctx: TransitionCtx,
  locked: LockedRun,
  change: Change,
  stages: RunConditions['stages'] = {},
): Transition {
  const now = ctx.now()
  const before = { ...locked.run, ...change.run }
  const run: MachineRun = {
    status: before.status,
    planOnly: before.plan_only,
    savePlan: before.save_plan,
    autoApply: before.auto_apply && !before.awaits_review,
    allowEmptyApply: before.allow_empty_apply,
    hasChanges: before.has_changes,
    occupies: before.occupies,
    confirmed: before.confirmed_at !== null,
  }
  const conditions: RunConditions = {
    canStart: canStart(locked),
    // A run that still waits for its turn ends with the error when it gets it.
    configuration: !before.fetches ? 'ready' : before.error === null ? 'fetching' : 'failed',
    job: change.job ?? jobOutcome(locked, now),
    stages,
    stale: before.save_plan && before.base_state_version_id !== locked.workspace.current_state_version_id,
    requested: change.requested ?? (before.cancel_requested_at === null ? 'none' : 'cancel'),
  }
  const path = advance(run, conditions)
  const effects = { ...effectsOf(run, path), ...(change.endsJob && { endsJob: true }) }
  const status = path.at(-1) ?? run.status
  const stamps = Object.fromEntries(path.map((step) => [step, now.toISOString()]))
  const timestamps = { ...(before.status_timestamps as Record<string, string>), ...stamps }
  const isStale = status === 'errored' && (path.at(-2) ?? run.status) === 'confirmed'
  const plan = phaseUpdate(locked.plan, { status: effects.plan, change: change.plan, now })
  const apply = phaseUpdate(locked.apply, { status: effects.apply, change: change.apply, now })
  const job = effects.enqueue && newJob(ctx, locked, { kind: effects.enqueue, keepsAttempt: change.keepsAttempt })
  return {
    path,
    status,
    run: {
      ...change.run,
      ...(path.length > 0 && { status, status_timestamps: JSON.stringify(timestamps) }),
      ...(effects.occupies !== before.occupies && { occupies: effects.occupies }),
      ...(effects.waits !== before.waits && { waits: effects.waits }),
      ...(isStale && { error: 'the state has changed since this plan was created: create a new plan' }),
      updated_at: now,
    },
    plan,
    apply,
    job,
    workspace: workspaceChange(locked, { effects, status, now, before }),
    ended: path.length > 0 ? endedRun(locked, { status, plan, apply }) : undefined,
    entersQueue: effects.waits && !before.waits && before.status !== 'pending',
    // All other ends are reported by the agent itself.
    topics: locked.job && status === 'force_canceled' ? [`job:${locked.job.id}`] : [],
    jobTopic: job && change.skipsJobSignal !== true ? poolTopic(job.agent_pool_id) : undefined,
    effects,
  }
}

function canStart({ workspace, run, isFirst }: LockedRun) {
  if (workspace.active_run_id !== null || workspace.locked_by_type !== null) return false
  return run.waits ? isFirst : workspace.waiting_runs === 0
}

function jobOutcome({ job, run, plan, apply }: LockedRun, now: Date): JobOutcome {
  if (job) return job.status === 'running' ? 'running' : 'queued'
  const phase = run.status === 'applying' ? apply : plan
  if (phase.deferred_until === null) return 'queued'
  return phase.deferred_until <= now ? 'errored' : 'deferred'
}

type PhaseChange = { status: PhaseStatus | undefined; change: PhaseUpdate | undefined; now: Date }

function phaseUpdate(phase: LockedPhase, { status, change, now }: PhaseChange): PhaseUpdate | undefined {
  if (status === undefined || hasPhaseEnded(phase.status)) return change
  const timestamps = { ...phase.status_timestamps, [status]: now.toISOString() }
  return {
    ...change,
    status,
    status_timestamps: JSON.stringify(timestamps),
    ...(hasPhaseEnded(status) && { ended_at: now, deferred_until: null }),
  }
}

type Queued = Pick<Change, 'keepsAttempt'> & { kind: 'plan' | 'apply' }

function newJob(ctx: TransitionCtx, locked: LockedRun, { kind, keepsAttempt }: Queued): NewJob {
  const { run, job } = locked
  const earlier = job?.kind === kind ? job.attempt : 0
  const { organization_id, workspace_id, agent_pool_id } = run
  return {
    id: ctx.newId('job'),
    run_id: run.id,
    organization_id,
    workspace_id,
    class: queueClass(kind, run.plan_only),
    phase_id: locked[kind].id,
    kind,
    agent_pool_id,
    attempt: keepsAttempt ? earlier : earlier + 1,
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

type Advanced = { effects: Effects; status: RunStatus; now: Date; before: RunRow }

function workspaceChange(locked: LockedRun, { effects, status, now, before }: Advanced) {
  const { workspace, run, isConfigurationNewer } = locked
  const change: WorkspaceChange = {}
  const unlocked = { locked_by_type: null, locked_by_id: null, locked_at: null, locked_reason: null }
  if (effects.occupies && !before.occupies) {
    Object.assign(change, { active_run_id: run.id, ...currentRunColumns({ ...run, status }) })
    Object.assign(change, { ...unlocked, locked_by_type: 'run', locked_by_id: run.id, locked_at: now })
  }
  if (effects.releases) {
    change.active_run_id = null
    if (workspace.locked_by_type === 'run' && workspace.locked_by_id === run.id) Object.assign(change, unlocked)
  }
  if (effects.waits !== before.waits) change.waiting_runs = workspace.waiting_runs + (effects.waits ? 1 : -1)
  // A provisional configuration becomes current with its first apply, unless a newer one is current.
  if (status === 'applied' && isConfigurationNewer)
    change.current_configuration_version_id = run.configuration_version_id
  if (workspace.current_run_id === run.id && isFinal(status) !== isFinal(run.status))
    Object.assign(change, currentRunColumns({ ...run, status }))
  const drift = driftAfter(run, { effects, hasChanges: before.has_changes })
  const isTracked = workspace.has_drift !== null || run.refresh_only
  if (drift !== undefined && drift !== workspace.has_drift && isTracked) change.has_drift = drift
  return Object.keys(change).length === 0 ? undefined : change
}

/** Columns of a workspace about its current run. The status is stored only once final, so that few changes write the workspace. */
export function currentRunColumns({ id, status, created_at }: Pick<RunRow, 'id' | 'status' | 'created_at'>) {
  return {
    current_run_id: id,
    current_run_created_at: created_at,
    current_run_final_status: isFinal(status) ? status : null,
  }
}

type Outcome = { effects: Effects; hasChanges: boolean }

/** Undefined if unknown: with targets, an apply or a plan without changes has not checked all resources. */
function driftAfter({ refresh, refresh_only, target_addrs }: RunRow, { effects, hasChanges }: Outcome) {
  const isWhole = target_addrs.length === 0
  if (effects.applied) return refresh && isWhole ? false : undefined
  const hasPlanned = refresh_only && effects.plan === 'finished'
  return hasPlanned && (hasChanges || isWhole) ? hasChanges : undefined
}

type End = Pick<Transition, 'status' | 'plan' | 'apply'>

function endedRun({ run, ...phases }: LockedRun, { status, plan, apply }: End): EndedRun | undefined {
  const { kpi } = RUN_STATUS_TABLE[status]
  if (kpi === undefined) return undefined
  return {
    number: run.number,
    isFailure: kpi === 'failure',
    planMs: durationOf(phases.plan, plan),
    applyMs: durationOf(phases.apply, apply),
  }
}

function durationOf(phase: LockedPhase, update: PhaseUpdate | undefined) {
  const status = update?.status ?? phase.status
  const json = update?.status_timestamps
  const stamps = json === undefined ? phase.status_timestamps : (JSON.parse(json) as Record<string, string>)
  const { running, [status]: end } = stamps
  if (running === undefined || end === undefined || !hasPhaseEnded(status)) return null
  return Date.parse(end) - Date.parse(running)
}
