import type { Stage } from './run-tasks.ts'

/**
 * Groups of run statuses, the most urgent first. `needs_approval` waits for a user, `waiting` for the queue or an agent;
 * `finished` needs no action. A saved plan is finished: it blocks no other run.
 */
export const RUN_GROUP_NAMES = ['needs_approval', 'errored', 'running', 'waiting', 'finished', 'stopped'] as const
export type RunGroup = (typeof RUN_GROUP_NAMES)[number]

type Row<Status extends string> = {
  group: RunGroup
  /** Text in lists; the icon comes from the group. */
  label: string
  /** Possible successors. A status without any ends the run. */
  next: readonly Status[]
  phase?: 'plan' | 'apply'
  stage?: Stage
  /** Whether policies are evaluated, or their failure waits for an override. */
  policies?: true
  /** The event that the run waits for: its turn in the workspace queue, its configuration, an agent, the agent's result, or a user's decision. */
  awaits?: 'queue' | 'configuration' | 'agent' | 'result' | 'decision'
  /** Sentence about a run that has ended. */
  summary?: string
  /** Completes "the run was …" for a run that a user stopped. */
  stopped?: string
  /** How the KPIs of the workspace count a run that has ended. */
  kpi?: 'success' | 'failure'
  /** The trigger of notifications about the status: `run:` and this. `needs_attention` applies only while the run waits. */
  notifies?: 'planning' | 'needs_attention' | 'applying' | 'completed' | 'errored'
}

function declareStatuses<Status extends string>(rows: Readonly<Record<Status, Row<NoInfer<Status>>>>) {
  return rows
}

/**
 * The statuses of a run, in lifecycle order. Types, groups, the API's documentation, labels, and in SQL the conditions,
 * constraints and partial indexes are derived from this table. The effects of a status are in the server's `features/runs/runs/machine.ts`.
 */
export const RUN_STATUS_TABLE = declareStatuses({
  pending: {
    group: 'waiting',
    label: 'waiting',
    phase: 'plan',
    awaits: 'queue',
    next: ['fetching', 'discarded', 'canceled'],
  },
  fetching: {
    group: 'running',
    label: 'fetching',
    phase: 'plan',
    awaits: 'configuration',
    next: ['fetching_completed', 'canceled', 'errored'],
  },
  fetching_completed: { group: 'running', label: 'preparing', phase: 'plan', next: ['pre_plan_running', 'queuing'] },
  pre_plan_running: {
    group: 'running',
    label: 'pre-plan tasks',
    phase: 'plan',
    stage: 'pre_plan',
    next: ['pre_plan_completed', 'canceled', 'force_canceled', 'errored'],
  },
  pre_plan_completed: { group: 'running', label: 'pre-plan tasks done', phase: 'plan', next: ['queuing'] },
  queuing: { group: 'running', label: 'plan queued', phase: 'plan', next: ['plan_queued'] },
  plan_queued: {
    group: 'waiting',
    label: 'plan queued',
    phase: 'plan',
    awaits: 'agent',
    next: ['planning', 'canceled'],
  },
  planning: {
    group: 'running',
    label: 'planning',
    notifies: 'planning',
    phase: 'plan',
    awaits: 'result',
    // Back to plan_queued when the agent is lost.
    next: ['planned', 'plan_queued', 'canceled', 'force_canceled', 'errored'],
  },
  planned: {
    group: 'needs_approval',
    label: 'planned',
    notifies: 'needs_attention',
    phase: 'apply',
    awaits: 'decision',
    next: ['post_plan_running', 'planned_and_finished', 'planned_and_saved', 'confirmed', 'discarded', 'canceled'],
  },
  post_plan_running: {
    group: 'running',
    label: 'post-plan tasks',
    phase: 'apply',
    stage: 'post_plan',
    policies: true,
    next: ['post_plan_completed', 'post_plan_awaiting_decision', 'discarded', 'canceled', 'force_canceled', 'errored'],
  },
  post_plan_awaiting_decision: {
    group: 'needs_approval',
    label: 'needs a decision',
    notifies: 'needs_attention',
    phase: 'apply',
    policies: true,
    awaits: 'decision',
    next: ['post_plan_completed', 'discarded', 'canceled', 'errored'],
  },
  post_plan_completed: {
    group: 'needs_approval',
    label: 'post-plan tasks done',
    notifies: 'needs_attention',
    phase: 'apply',
    awaits: 'decision',
    next: ['planned_and_finished', 'planned_and_saved', 'confirmed', 'discarded', 'canceled'],
  },
  planned_and_finished: { group: 'finished', label: 'planned', notifies: 'completed', next: [] },
  planned_and_saved: {
    group: 'finished',
    label: 'plan saved',
    notifies: 'completed',
    phase: 'apply',
    awaits: 'decision',
    next: ['confirmed', 'discarded'],
  },
  confirmed: {
    group: 'running',
    label: 'approved',
    phase: 'apply',
    awaits: 'queue',
    // Errored when the state has changed since the plan.
    next: ['pre_apply_running', 'queuing_apply', 'canceled', 'errored'],
  },
  pre_apply_running: {
    group: 'running',
    label: 'pre-apply tasks',
    phase: 'apply',
    stage: 'pre_apply',
    next: ['pre_apply_completed', 'canceled', 'force_canceled', 'errored'],
  },
  pre_apply_completed: { group: 'running', label: 'pre-apply tasks done', phase: 'apply', next: ['queuing_apply'] },
  queuing_apply: { group: 'running', label: 'apply queued', phase: 'apply', next: ['apply_queued'] },
  apply_queued: {
    group: 'waiting',
    label: 'apply queued',
    phase: 'apply',
    awaits: 'agent',
    next: ['applying', 'canceled'],
  },
  applying: {
    group: 'running',
    label: 'applying',
    notifies: 'applying',
    phase: 'apply',
    awaits: 'result',
    // Back to apply_queued only when an agent releases the job before the apply has started.
    next: ['post_apply_running', 'applied', 'apply_queued', 'canceled', 'force_canceled', 'errored'],
  },
  post_apply_running: {
    group: 'running',
    label: 'post-apply tasks',
    stage: 'post_apply',
    next: ['post_apply_completed'],
  },
  post_apply_completed: { group: 'running', label: 'post-apply tasks done', next: ['applied'] },
  applied: {
    group: 'finished',
    label: 'applied',
    notifies: 'completed',
    summary: 'The changes were applied.',
    kpi: 'success',
    next: [],
  },
  discarded: {
    group: 'stopped',
    label: 'discarded',
    notifies: 'errored',
    stopped: 'discarded',
    summary: 'The plan was not applied.',
    next: [],
  },
  canceled: {
    group: 'stopped',
    label: 'canceled',
    notifies: 'errored',
    stopped: 'canceled',
    summary: 'The run was canceled before it finished.',
    next: [],
  },
  force_canceled: {
    group: 'stopped',
    label: 'force-canceled',
    notifies: 'errored',
    stopped: 'force-canceled',
    summary: 'The run was force-canceled: its last changes may be missing from the state.',
    next: [],
  },
  errored: {
    group: 'errored',
    label: 'errored',
    notifies: 'errored',
    summary: 'The run failed.',
    kpi: 'failure',
    next: [],
  },
})

export type RunStatus = keyof typeof RUN_STATUS_TABLE
type RunStatusRow = Row<RunStatus>

export const RUN_STATUS = Object.keys(RUN_STATUS_TABLE) as RunStatus[]

/** Statuses of the public API that no run has here: policies are evaluated in a task stage, and costs not estimated. Filters accept them. */
export const UNUSED_STATUSES = [
  'cost_estimating',
  'cost_estimated',
  'policy_checking',
  'policy_checked',
  'policy_override',
  'policy_soft_failed',
] as const

export function statusesWhere(matches: (row: RunStatusRow) => boolean): readonly RunStatus[] {
  return RUN_STATUS.filter((status) => matches(RUN_STATUS_TABLE[status]))
}

export const RUN_GROUPS = Object.fromEntries(
  RUN_GROUP_NAMES.map((name) => [name, statusesWhere(({ group }) => group === name)]),
) as Readonly<Record<RunGroup, readonly RunStatus[]>>

export function leadsTo(status: RunStatus, next: RunStatus) {
  return RUN_STATUS_TABLE[status].next.includes(next)
}

/** Whether a run has ended. A saved plan can still be applied, so it has not. */
export function isEnded(status: RunStatus) {
  return RUN_STATUS_TABLE[status].next.length === 0
}

export const ENDED_STATUSES = RUN_STATUS.filter(isEnded)
/** The statuses that the public API calls final: a saved plan is among them. */
export const FINAL_STATUSES: readonly RunStatus[] = [
  ...RUN_GROUPS.finished,
  ...RUN_GROUPS.stopped,
  ...RUN_GROUPS.errored,
]

export function isFinal(status: RunStatus) {
  return FINAL_STATUSES.includes(status)
}

export const DISCARDABLE_STATUSES = RUN_STATUS.filter((status) => leadsTo(status, 'discarded'))
export const UNFINISHED_STATUSES = RUN_STATUS.filter((status) => !isFinal(status))
/** The statuses of ended runs that the KPIs of workspaces count, and those of them that are failures. */
export const KPI_STATUSES = statusesWhere(({ kpi }) => kpi !== undefined)
export const FAILURE_STATUSES = statusesWhere(({ kpi }) => kpi === 'failure')
/** The statuses in which a job waits for an agent, and those in which an agent executes it. */
export const QUEUED_STATUSES = statusesWhere(({ awaits }) => awaits === 'agent')
export const EXECUTING_STATUSES = statusesWhere(({ awaits }) => awaits === 'result')

/** Statuses of a phase of a run: its plan or its apply. A phase is `unreachable` when the run ended before it. */
export const PHASE_STATUS = ['pending', 'queued', 'running', 'finished', 'errored', 'canceled', 'unreachable'] as const
export type PhaseStatus = (typeof PHASE_STATUS)[number]

const OPEN: ReadonlySet<PhaseStatus> = new Set(['pending', 'queued', 'running'])

/** Whether a phase has ended; clients wait for these statuses. */
export function hasPhaseEnded(status: PhaseStatus) {
  return !OPEN.has(status)
}
