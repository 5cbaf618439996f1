import type { PhaseStatus } from '../plans/status.ts'
import { isEnded, NEXT, type RunStatus } from './status.ts'

/**
 * The run machine. It is pure, and driven by facts rather than by events: whatever happened is recorded first, and
 * `advance` then says how far the run gets. So it may be called at any time, any number of times, and a server that was
 * killed goes on where the facts are.
 */

export const STAGES = ['pre_plan', 'post_plan', 'pre_apply', 'post_apply'] as const
export type Stage = (typeof STAGES)[number]

/** A stage of run tasks; undefined where the run has none. */
export type StageStatus =
  | 'pending'
  | 'running'
  | 'passed'
  | 'failed'
  | 'awaiting_override'
  | 'errored'
  | 'canceled'
  | 'unreachable'
  /** It stops the run, which is not told yet so that a command line gets to look at it. */
  | 'held'

/** What became of the job of the run's present phase. */
export type JobOutcome =
  /** It waits for an agent, or there is none. */
  | 'queued'
  | 'running'
  | 'finished'
  | 'errored'
  /** It failed, and the end is not shown yet so that a command line gets to open the log. */
  | 'held'
  | 'canceled'
  /** Its agent gave no sign of life, or handed it back: it may be tried again. */
  | 'retry'
  /** Its agent gave no sign of life, and it must not be tried again. */
  | 'lost'

export type MachineRun = {
  status: RunStatus
  planOnly: boolean
  savePlan: boolean
  autoApply: boolean
  allowEmptyApply: boolean
  hasChanges: boolean
  occupies: boolean
  /** Somebody has confirmed the plan. */
  confirmed: boolean
}

export type Facts = {
  /** Whether the workspace is free for this run: unlocked, not held by another run, and nobody in line before it. */
  turn: boolean
  job: JobOutcome
  stages: Partial<Record<Stage, StageStatus>>
  /** The state has moved on since the plan was made. */
  stale: boolean
  /** What a person asks for. */
  wish: 'none' | 'discard' | 'cancel' | 'force-cancel'
}

type Step = (run: MachineRun, facts: Facts) => RunStatus | undefined

/** The next status, or undefined while the run waits. */
const STEP = {
  pending: (run, facts) => (holdsNothing(run) || facts.turn ? 'fetching' : undefined),
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
  // What runs after the apply can't undo it: no verdict stops the run any more.
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
  held: undefined,
  canceled: 'canceled',
  retry: 'plan_queued',
  lost: 'errored',
} as const satisfies Record<JobOutcome, RunStatus | undefined>

const APPLY_END = {
  queued: undefined,
  running: undefined,
  finished: 'applied',
  errored: 'errored',
  held: undefined,
  canceled: 'canceled',
  retry: 'apply_queued',
  lost: 'errored',
} as const satisfies Record<JobOutcome, RunStatus | undefined>

/** A speculative plan changes nothing, and a saved one not yet: neither waits for the workspace, nor holds it. */
export function holdsNothing(run: Pick<MachineRun, 'planOnly' | 'savePlan'>) {
  return run.planOnly || run.savePlan
}

function isStageOver(status: StageStatus | undefined) {
  return status !== 'pending' && status !== 'running' && status !== 'held'
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

/** Where an agent is, or may be, at work: what is asked for then reaches the run through its agent. */
const AT_WORK: ReadonlySet<RunStatus> = new Set(['planning', 'applying'])

/** Where the run goes because a person asks for it; undefined when that is nowhere from here, or not yet. */
function wished(status: RunStatus, facts: Facts): RunStatus | undefined {
  const end = WISHES[facts.wish]
  if (end === undefined || !isNext(status, end)) return undefined
  if (end !== 'canceled' || !AT_WORK.has(status)) return end
  // The agent interrupts the engine first, and what it then reports counts: a failure is told as one, and so is an apply
  // that came to its end all the same.
  if (facts.job === 'retry' || facts.job === 'canceled') return end
  return status === 'planning' && facts.job === 'finished' ? end : undefined
}

const WISHES = {
  none: undefined,
  discard: 'discarded',
  cancel: 'canceled',
  'force-cancel': 'force_canceled',
} as const satisfies Record<Facts['wish'], RunStatus | undefined>

function isNext(status: RunStatus, next: RunStatus) {
  const allowed: readonly RunStatus[] = NEXT[status]
  return allowed.includes(next)
}

/**
 * The statuses that the run goes through now, in order; empty when it waits. Facts about the job are used up by the step
 * that they cause, since the next phase has a job of its own.
 */
export function advance(run: MachineRun, facts: Facts): RunStatus[] {
  const path: RunStatus[] = []
  let current = run
  let left = facts
  for (;;) {
    const next = isEnded(current.status)
      ? undefined
      : (wished(current.status, left) ?? STEP[current.status](current, left))
    if (next === undefined) return path
    path.push(next)
    current = { ...current, status: next, occupies: current.occupies || occupying(current, next) }
    if (next === 'plan_queued' || next === 'apply_queued') left = { ...left, job: 'queued' }
    if (next === 'pre_plan_running' || next === 'pre_apply_running') left = startStage(left, next)
    if (next === 'post_plan_running' || next === 'post_apply_running') left = startStage(left, next)
  }
}

const STAGE_OF = {
  pre_plan_running: 'pre_plan',
  post_plan_running: 'post_plan',
  pre_apply_running: 'pre_apply',
  post_apply_running: 'post_apply',
} as const satisfies Partial<Record<RunStatus, Stage>>

/** The stage of run tasks that is under way in a status. */
export function stageOf(status: RunStatus): Stage | undefined {
  return status in STAGE_OF ? STAGE_OF[status as keyof typeof STAGE_OF] : undefined
}

function startStage(facts: Facts, status: keyof typeof STAGE_OF): Facts {
  const stage = STAGE_OF[status]
  return facts.stages[stage] === 'pending' ? { ...facts, stages: { ...facts.stages, [stage]: 'running' } } : facts
}

function occupying(run: MachineRun, next: RunStatus) {
  if (next === 'fetching') return !holdsNothing(run)
  return run.status === 'confirmed' && next !== 'errored' && !isEnded(next)
}

/** What comes with the way that a run went. */
export type Consequences = {
  /** New statuses of the two phases. */
  plan?: PhaseStatus
  apply?: PhaseStatus
  /** A job to be put up for agents. */
  enqueue?: 'plan' | 'apply'
  /** The present job is over, whatever its agent does. */
  endsJob: boolean
  startStage?: Stage
  cancelsStages: boolean
  occupies: boolean
  /** Whether the run stands in line for the workspace. */
  waits: boolean
  releases: boolean
  /** The apply has succeeded: run triggers fire. */
  applied: boolean
}

/** What follows from `path`, the way that `run` has just gone. */
export function consequences(run: MachineRun, path: readonly RunStatus[]): Consequences {
  let occupies = run.occupies
  const result: Consequences = {
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
    const stage = stageOf(status)
    if (stage) result.startStage = stage
    if (status === 'plan_queued') result.enqueue = 'plan'
    if (status === 'apply_queued') result.enqueue = 'apply'
    if (isEnded(status)) {
      delete result.enqueue
      result.cancelsStages = status !== 'applied'
      result.applied = status === 'applied'
    }
    // A job ends when its phase does; the one that a lost or handed back job makes room for is a new one.
    if (AT_WORK.has(from) || isEnded(status)) result.endsJob = true
    from = status
  }
  const ended = isEnded(from)
  result.releases = run.occupies && ended
  result.occupies = occupies && !ended
  result.waits =
    !result.occupies && ((from === 'pending' && !holdsNothing(run)) || (from === 'confirmed' && !result.occupies))
  return result
}

type Phases = { plan?: PhaseStatus; apply?: PhaseStatus }

function phasesAt(from: RunStatus, status: RunStatus): Phases {
  if (status === 'plan_queued') return { plan: 'queued' }
  if (status === 'planning') return { plan: 'running' }
  if (status === 'planned') return { plan: 'finished' }
  if (status === 'apply_queued') return { apply: 'queued' }
  if (status === 'applying') return { apply: 'running' }
  if (from === 'applying' && (status === 'applied' || status === 'post_apply_running')) return { apply: 'finished' }
  if (!isEnded(status) || status === 'applied') return {}
  const end = status === 'errored' ? 'errored' : 'canceled'
  // What never began can no longer be reached.
  if (BEFORE_PLAN.has(from)) return { plan: status === 'errored' ? 'unreachable' : 'canceled', apply: 'unreachable' }
  if (from === 'plan_queued' || from === 'planning') return { plan: end, apply: 'unreachable' }
  if (from === 'apply_queued' || from === 'applying') return { apply: end }
  return APPLY_DONE.has(from) ? {} : { apply: 'unreachable' }
}

const BEFORE_PLAN: ReadonlySet<RunStatus> = new Set([
  'pending',
  'fetching',
  'fetching_completed',
  'pre_plan_running',
  'pre_plan_completed',
  'queuing',
])
const APPLY_DONE: ReadonlySet<RunStatus> = new Set(['post_apply_running', 'post_apply_completed'])
