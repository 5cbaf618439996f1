import { type PhaseStatus, RUN_STATUS_TABLE, type RunStatus, isEnded, leadsTo } from '@groundstate/contract/run-status'
import type { Stage } from '@groundstate/contract/run-tasks'
import type { TaskStageStatus } from '@groundstate/contract/task-stages'

/**
 * The run machine. It is pure, and driven by facts rather than by events: what happened is recorded first, and `advance`
 * then says how far the run gets. It can be called at any time and any number of times, so a server that was killed
 * continues from the recorded facts.
 */

/** A stage of run tasks; undefined where the run has none. */
export type StageStatus =
  | TaskStageStatus
  /** Its verdict stops the run, but is deferred: see `deferral.ts`. */
  | 'deferred'

/** The state of the job of the run's current phase. */
export type JobOutcome =
  /** It waits for an agent, or there is no job. */
  | 'queued'
  | 'running'
  | 'finished'
  | 'errored'
  /** It failed, but the end is deferred: see `deferral.ts`. */
  | 'deferred'
  | 'canceled'
  /** Its lease expired or its agent handed it back, and it may be tried again. */
  | 'retry'
  /** Its lease expired, and it must not be tried again. */
  | 'lost'

export type MachineRun = {
  status: RunStatus
  planOnly: boolean
  savePlan: boolean
  autoApply: boolean
  allowEmptyApply: boolean
  hasChanges: boolean
  occupies: boolean
  /** Whether a person has confirmed the plan. */
  confirmed: boolean
}

export type RunFacts = {
  /** Whether the workspace is free for this run: unlocked, not occupied, and no other run is queued before this one. */
  turn: boolean
  job: JobOutcome
  stages: Partial<Record<Stage, StageStatus>>
  /** Whether the state has changed since the plan was made. */
  stale: boolean
  /** A user's action. */
  requested: 'none' | 'discard' | 'cancel' | 'force-cancel'
}

type Step = (run: MachineRun, facts: RunFacts) => RunStatus | undefined

/** The next status, or undefined while the run waits. */
const STEP = {
  pending: (run, facts) => (needsNoLock(run) || facts.turn ? 'fetching' : undefined),
  fetching: () => 'fetching_completed',
  fetching_completed: (_, { stages }) => (stages.pre_plan ? 'pre_plan_running' : 'queuing'),
  pre_plan_running: (_, { stages }) => stageEnd(stages.pre_plan, 'pre_plan_completed'),
  pre_plan_completed: () => 'queuing',
  queuing: () => 'plan_queued',
  plan_queued: (_, { job }) => (job === 'running' ? 'planning' : undefined),
  planning: (_, { job }) => PLAN_END[job],
  planned: (run, facts) => (facts.stages.post_plan ? 'post_plan_running' : afterPlan(run)),
  post_plan_running: (_, { stages }) =>
    stages.post_plan === 'awaiting_override'
      ? 'post_plan_awaiting_decision'
      : stageEnd(stages.post_plan, 'post_plan_completed'),
  post_plan_awaiting_decision: (_, { stages }) =>
    stages.post_plan === 'awaiting_override' ? undefined : stageEnd(stages.post_plan, 'post_plan_completed'),
  post_plan_completed: (run) => afterPlan(run),
  planned_and_saved: (run) => (run.confirmed ? 'confirmed' : undefined),
  confirmed: (run, facts) => {
    if (!run.occupies && !facts.turn) return undefined
    if (facts.stale) return 'errored'
    return facts.stages.pre_apply ? 'pre_apply_running' : 'queuing_apply'
  },
  pre_apply_running: (_, { stages }) => stageEnd(stages.pre_apply, 'pre_apply_completed'),
  pre_apply_completed: () => 'queuing_apply',
  queuing_apply: () => 'apply_queued',
  apply_queued: (_, { job }) => (job === 'running' ? 'applying' : undefined),
  applying: (_, { job, stages }) => (job === 'finished' && stages.post_apply ? 'post_apply_running' : APPLY_END[job]),
  // Tasks after the apply cannot undo it, so no verdict stops the run here.
  post_apply_running: (_, { stages }) => (isStageOver(stages.post_apply) ? 'post_apply_completed' : undefined),
  post_apply_completed: () => 'applied',
  planned_and_finished: () => undefined,
  applied: () => undefined,
  discarded: () => undefined,
  canceled: () => undefined,
  force_canceled: () => undefined,
  errored: () => undefined,
} as const satisfies Record<RunStatus, Step>

const PLAN_END = {
  queued: undefined,
  running: undefined,
  finished: 'planned',
  errored: 'errored',
  deferred: undefined,
  canceled: 'canceled',
  retry: 'plan_queued',
  lost: 'errored',
} as const satisfies Record<JobOutcome, RunStatus | undefined>

const APPLY_END = {
  queued: undefined,
  running: undefined,
  finished: 'applied',
  errored: 'errored',
  deferred: undefined,
  canceled: 'canceled',
  retry: 'apply_queued',
  lost: 'errored',
} as const satisfies Record<JobOutcome, RunStatus | undefined>

/** A plan-only run changes nothing, and a saved plan nothing yet: neither waits for the workspace nor locks it. */
export function needsNoLock(run: Pick<MachineRun, 'planOnly' | 'savePlan'>) {
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

/** Whether an agent may be executing the run's job: a cancel then reaches the run through the agent. */
function isExecuting(status: RunStatus) {
  return RUN_STATUS_TABLE[status].awaits === 'result'
}

/** The status that a person's request leads to; undefined when it leads nowhere from here, or not yet. */
function requestedStatus(status: RunStatus, facts: RunFacts): RunStatus | undefined {
  const end = REQUESTED_STATUS[facts.requested]
  if (end === undefined || !leadsTo(status, end)) return undefined
  if (end !== 'canceled' || !isExecuting(status)) return end
  // The agent interrupts the engine first, and its report decides: a failed phase stays failed, and an apply that was
  // completed stays applied.
  if (facts.job === 'retry' || facts.job === 'canceled') return end
  return status === 'planning' && facts.job === 'finished' ? end : undefined
}

const REQUESTED_STATUS = {
  none: undefined,
  discard: 'discarded',
  cancel: 'canceled',
  'force-cancel': 'force_canceled',
} as const satisfies Record<RunFacts['requested'], RunStatus | undefined>

/**
 * The statuses that the run goes through now, in order; empty when it waits. A fact about the job counts for one step only,
 * since the next phase has a separate job.
 */
export function advance(run: MachineRun, facts: RunFacts): RunStatus[] {
  const path: RunStatus[] = []
  let current = run
  let left = facts
  for (;;) {
    const next = isEnded(current.status)
      ? undefined
      : (requestedStatus(current.status, left) ?? STEP[current.status](current, left))
    if (next === undefined) return path
    path.push(next)
    current = { ...current, status: next, occupies: current.occupies || occupying(current, next) }
    const { awaits, stage } = RUN_STATUS_TABLE[next]
    if (awaits === 'agent') left = { ...left, job: 'queued' }
    if (stage && left.stages[stage] === 'pending') left = { ...left, stages: { ...left.stages, [stage]: 'running' } }
  }
}

function occupying(run: MachineRun, next: RunStatus) {
  if (next === 'fetching') return !needsNoLock(run)
  return run.status === 'confirmed' && next !== 'errored' && !isEnded(next)
}

/** The effects of a path through the statuses. */
export type Effects = {
  /** New statuses of the two phases. */
  plan?: PhaseStatus
  apply?: PhaseStatus
  /** The phase that a job is queued for. */
  enqueue?: 'plan' | 'apply'
  /** The current job is over, whatever its agent does. */
  endsJob: boolean
  startStage?: Stage
  cancelsStages: boolean
  occupies: boolean
  /** Whether the run is in the queue of its workspace. */
  waits: boolean
  /** The run no longer occupies the workspace. */
  releases: boolean
  /** The apply has succeeded: run triggers fire. */
  applied: boolean
}

/** The effects of `run` having just passed through the statuses of `path`. */
export function effectsOf(run: MachineRun, path: readonly RunStatus[]): Effects {
  let occupies = run.occupies
  const result: Effects = {
    endsJob: false,
    cancelsStages: false,
    occupies,
    waits: false,
    releases: false,
    applied: false,
  }
  let from = run.status
  for (const status of path) {
    occupies ||= occupying({ ...run, status: from }, status)
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
  result.waits =
    !result.occupies && ((from === 'pending' && !needsNoLock(run)) || (from === 'confirmed' && !result.occupies))
  return result
}

type Phases = { plan?: PhaseStatus; apply?: PhaseStatus }

function phasesAt(from: RunStatus, status: RunStatus): Phases {
  const { awaits, phase } = RUN_STATUS_TABLE[status]
  if (phase && awaits === 'agent') return { [phase]: 'queued' }
  if (phase && awaits === 'result') return { [phase]: 'running' }
  if (status === 'planned') return { plan: 'finished' }
  if (from === 'applying' && (status === 'applied' || status === 'post_apply_running')) return { apply: 'finished' }
  return isEnded(status) && status !== 'applied' ? unfinishedPhases(from, status) : {}
}

/** The phases that an end of the run leaves undone. One that never began is unreachable now. */
function unfinishedPhases(from: RunStatus, end: RunStatus): Phases {
  const { awaits, phase } = RUN_STATUS_TABLE[from]
  const isUnderWay = awaits === 'agent' || awaits === 'result'
  if (phase === 'plan') {
    const isUnreachable = end === 'errored' && !isUnderWay
    return { plan: isUnreachable ? 'unreachable' : phaseEnd(end), apply: 'unreachable' }
  }
  if (phase === 'apply') return { apply: isUnderWay ? phaseEnd(end) : 'unreachable' }
  return {}
}

function phaseEnd(end: RunStatus) {
  return end === 'errored' ? 'errored' : 'canceled'
}
