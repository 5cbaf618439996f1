import { type PhaseStatus, RUN_STATUS_TABLE, type RunStatus, isEnded, leadsTo } from '@groundstate/contract/run-status'
import type { Stage } from '@groundstate/contract/run-tasks'
import type { TaskStageStatus } from '@groundstate/contract/task-stages'

/*
 * The state machine of runs. It is pure and idempotent: what happened is recorded first, and `advance` returns how far the run gets
 * under the recorded conditions. A restarted server continues from them.
 */

/** `deferred` stages stop the run later: see `deferral.ts`. */
export type StageStatus = TaskStageStatus | 'deferred'

/** The state of the job of the current phase, or `queued` without a job. */
export type JobOutcome =
  | 'queued'
  | 'running'
  | 'finished'
  | 'errored'
  /** It failed, but the end is deferred: see `deferral.ts`. */
  | 'deferred'
  | 'canceled'
  /** It was requeued: its lease expired, or its agent released it. */
  | 'retry'
  /** Its lease expired, and it must not be retried. */
  | 'lost'

type Flag = 'planOnly' | 'savePlan' | 'autoApply' | 'allowEmptyApply' | 'hasChanges' | 'confirmed'
/** `occupies`: the run is the active one of its workspace. */
export type MachineRun = { status: RunStatus; occupies: boolean } & Record<Flag, boolean>

export type RunConditions = {
  /** Whether the workspace is unlocked and without an active run, and no other run is queued before this one. */
  canStart: boolean
  /** The archive of the run's configuration, which may come from a repository. */
  configuration: 'ready' | 'fetching' | 'failed'
  job: JobOutcome
  stages: Partial<Record<Stage, StageStatus>>
  /** Whether the state has changed since the plan was created. */
  stale: boolean
  /** A user's action. */
  requested: 'none' | 'discard' | 'cancel' | 'force-cancel'
}

type Step = (run: MachineRun, conditions: RunConditions) => RunStatus | undefined

/** The next status, or undefined while the run waits. */
const STEP = {
  pending: (run, { canStart }) => (needsNoLock(run) || canStart ? 'fetching' : undefined),
  fetching: (_, { configuration }) => CONFIGURATION_STEP[configuration],
  fetching_completed: (_, { stages }) => (stages.pre_plan ? 'pre_plan_running' : 'queuing'),
  pre_plan_running: (_, { stages }) => stageEnd(stages.pre_plan, 'pre_plan_completed'),
  pre_plan_completed: () => 'queuing',
  queuing: () => 'plan_queued',
  plan_queued: (_, { job }) => (job === 'running' ? 'planning' : undefined),
  planning: (_, { job }) => jobEnd(job, { finished: 'planned', retry: 'plan_queued' }),
  planned: (run, { stages }) => (stages.post_plan ? 'post_plan_running' : afterPlan(run)),
  post_plan_running: (_, { stages }) =>
    stages.post_plan === 'awaiting_override'
      ? 'post_plan_awaiting_decision'
      : stageEnd(stages.post_plan, 'post_plan_completed'),
  post_plan_awaiting_decision: (_, { stages }) =>
    stages.post_plan === 'awaiting_override' ? undefined : stageEnd(stages.post_plan, 'post_plan_completed'),
  post_plan_completed: (run) => afterPlan(run),
  planned_and_saved: (run) => (run.confirmed ? 'confirmed' : undefined),
  confirmed: (run, { canStart, stale, stages }) => {
    if (!run.occupies && !canStart) return undefined
    if (stale) return 'errored'
    return stages.pre_apply ? 'pre_apply_running' : 'queuing_apply'
  },
  pre_apply_running: (_, { stages }) => stageEnd(stages.pre_apply, 'pre_apply_completed'),
  pre_apply_completed: () => 'queuing_apply',
  queuing_apply: () => 'apply_queued',
  apply_queued: (_, { job }) => (job === 'running' ? 'applying' : undefined),
  applying: (_, { job, stages }) =>
    jobEnd(job, { finished: stages.post_apply ? 'post_apply_running' : 'applied', retry: 'apply_queued' }),
  // Tasks after the apply cannot undo it, so no result stops the run here.
  post_apply_running: (_, { stages }) => (isStageOver(stages.post_apply) ? 'post_apply_completed' : undefined),
  post_apply_completed: () => 'applied',
  planned_and_finished: () => undefined,
  applied: () => undefined,
  discarded: () => undefined,
  canceled: () => undefined,
  force_canceled: () => undefined,
  errored: () => undefined,
} as const satisfies Record<RunStatus, Step>

const CONFIGURATION_STEP = {
  ready: 'fetching_completed',
  fetching: undefined,
  failed: 'errored',
} as const satisfies Record<RunConditions['configuration'], RunStatus | undefined>

function jobEnd(job: JobOutcome, next: { finished: RunStatus; retry: RunStatus }): RunStatus | undefined {
  if (job === 'finished' || job === 'retry') return next[job]
  if (job === 'lost') return 'errored'
  return job === 'errored' || job === 'canceled' ? job : undefined
}

/** Plan-only runs and runs that save their plan neither wait for the workspace nor lock it. */
function needsNoLock(run: Pick<MachineRun, 'planOnly' | 'savePlan'>) {
  return run.planOnly || run.savePlan
}

function isStageOver(status: StageStatus | undefined) {
  return status !== 'pending' && status !== 'running' && status !== 'deferred'
}

function stageEnd(status: StageStatus | undefined, passed: RunStatus): RunStatus | undefined {
  if (status === undefined || status === 'passed') return passed
  if (status === 'canceled') return 'canceled'
  return isStageOver(status) ? 'errored' : undefined
}

function afterPlan(run: MachineRun): RunStatus | undefined {
  if (run.planOnly || !(run.hasChanges || run.allowEmptyApply)) return 'planned_and_finished'
  if (run.savePlan) return 'planned_and_saved'
  return run.autoApply || run.confirmed ? 'confirmed' : undefined
}

/** Whether an agent may be executing the run's job, so that a cancel goes through the agent. */
function isExecuting(status: RunStatus) {
  return RUN_STATUS_TABLE[status].awaits === 'result'
}

/** The status that a user's request leads to; undefined if it does not, or not yet. */
function requestedStatus(status: RunStatus, { requested, job }: RunConditions): RunStatus | undefined {
  const end = REQUESTED_STATUS[requested]
  if (end === undefined || !leadsTo(status, end)) return undefined
  if (end !== 'canceled' || !isExecuting(status)) return end
  // The agent interrupts the engine first, and its result decides: a failed phase stays failed, a completed apply stays applied.
  if (job === 'retry' || job === 'canceled') return end
  return status === 'planning' && job === 'finished' ? end : undefined
}

const REQUESTED_STATUS = {
  none: undefined,
  discard: 'discarded',
  cancel: 'canceled',
  'force-cancel': 'force_canceled',
} as const satisfies Record<RunConditions['requested'], RunStatus | undefined>

/** The statuses that the run passes through now, in order; empty if it waits. */
export function advance(run: MachineRun, conditions: RunConditions): RunStatus[] {
  const path: RunStatus[] = []
  let current = run
  let left = conditions
  for (;;) {
    const next = isEnded(current.status)
      ? undefined
      : (requestedStatus(current.status, left) ?? STEP[current.status](current, left))
    if (next === undefined) return path
    path.push(next)
    current = { ...current, status: next, occupies: current.occupies || startsOccupying(current, next) }
    const { awaits, stage } = RUN_STATUS_TABLE[next]
    // The job's outcome counts for one step only: the next phase has another job.
    if (awaits === 'agent') left = { ...left, job: 'queued' }
    if (stage && left.stages[stage] === 'pending') left = { ...left, stages: { ...left.stages, [stage]: 'running' } }
  }
}

function startsOccupying(run: MachineRun, next: RunStatus) {
  if (next === 'fetching') return !needsNoLock(run)
  return run.status === 'confirmed' && next !== 'errored' && !isEnded(next)
}

/** The effects of a path through the statuses. */
export type Effects = {
  /** New statuses of the two phases. */
  plan?: PhaseStatus
  apply?: PhaseStatus
  /** The phase to queue a job for. */
  enqueue?: 'plan' | 'apply'
  endsJob: boolean
  startStage?: Stage
  cancelsStages: boolean
  occupies: boolean
  /** Whether the run is in the queue of its workspace. */
  waits: boolean
  /** The run is no longer the active one of its workspace. */
  releases: boolean
  applied: boolean
}

/** The effects of `run` passing through the statuses of `path`. */
export function effectsOf(run: MachineRun, path: readonly RunStatus[]): Effects {
  let occupies = run.occupies
  const none = { endsJob: false, cancelsStages: false, waits: false, releases: false, applied: false }
  const result: Effects = { ...none, occupies }
  let from = run.status
  for (const status of path) {
    occupies ||= startsOccupying({ ...run, status: from }, status)
    Object.assign(result, phasesAt(from, status))
    delete result.startStage
    const { awaits, phase, stage } = RUN_STATUS_TABLE[status]
    if (stage) result.startStage = stage
    if (phase && awaits === 'agent') result.enqueue = phase
    if (isEnded(status)) {
      delete result.enqueue
      result.cancelsStages = status !== 'applied'
      result.applied = status === 'applied'
    }
    // A job ends with its phase. A retry gets a new job.
    if (isExecuting(from) || isEnded(status)) result.endsJob = true
    from = status
  }
  const ended = isEnded(from)
  result.releases = run.occupies && ended
  result.occupies = occupies && !ended
  result.waits = !result.occupies && ((from === 'pending' && !needsNoLock(run)) || from === 'confirmed')
  return result
}

type Phases = Pick<Effects, 'plan' | 'apply'>

function phasesAt(from: RunStatus, status: RunStatus): Phases {
  const { awaits, phase } = RUN_STATUS_TABLE[status]
  if (phase && awaits === 'agent') return { [phase]: 'queued' }
  if (phase && awaits === 'result') return { [phase]: 'running' }
  if (status === 'planned') return { plan: 'finished' }
  if (from === 'applying' && (status === 'applied' || status === 'post_apply_running')) return { apply: 'finished' }
  return isEnded(status) && status !== 'applied' ? unfinishedPhases(from, status) : {}
}

/** The phases that the end of the run leaves unfinished; `unreachable` if never started. */
function unfinishedPhases(from: RunStatus, end: RunStatus): Phases {
  const { awaits, phase } = RUN_STATUS_TABLE[from]
  const hasJob = awaits === 'agent' || awaits === 'result'
  const phaseEnd = end === 'errored' ? 'errored' : 'canceled'
  if (phase === 'apply') return { apply: hasJob ? phaseEnd : 'unreachable' }
  if (phase !== 'plan') return {}
  return { plan: end === 'errored' && !hasJob ? 'unreachable' : phaseEnd, apply: 'unreachable' }
}

type Cancelable = { status: RunStatus; cancel_requested_at: Date | null; force_cancel_available_at: Date | null }

/** Whether the run waits for confirmation. */
export function isConfirmable(run: Pick<Cancelable, 'status'>) {
  return leadsTo(run.status, 'confirmed')
}

/** Whether the run is pending or waits for confirmation. */
export function isDiscardable(run: Pick<Cancelable, 'status'>) {
  return leadsTo(run.status, 'discarded')
}

export function isCancelable(run: Cancelable) {
  return leadsTo(run.status, 'canceled') && run.cancel_requested_at === null
}

/** Whether a forced cancel can end the run's current work. Post-apply tasks are not interrupted. */
export function isForcible(status: RunStatus) {
  return leadsTo(status, 'force_canceled')
}

/** Whether the grace period after a cancel has passed. */
export function isForceCancelable(run: Cancelable, now: Date) {
  const { cancel_requested_at: requestedAt, force_cancel_available_at: availableAt } = run
  return requestedAt !== null && availableAt !== null && availableAt <= now && isForcible(run.status)
}
