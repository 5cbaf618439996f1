import type { Selectable } from 'kysely'
import type { Schema } from '../../../db/schema.gen.ts'

export type RunStatus = Selectable<Schema['runs']>['status']

/** The statuses that can follow each status; final ones have none. */
export const NEXT = {
  pending: ['fetching', 'discarded', 'canceled'],
  fetching: ['fetching_completed'],
  fetching_completed: ['pre_plan_running', 'queuing'],
  pre_plan_running: ['pre_plan_completed', 'canceled', 'force_canceled', 'errored'],
  pre_plan_completed: ['queuing'],
  queuing: ['plan_queued'],
  plan_queued: ['planning', 'canceled'],
  // Back to plan_queued when the agent is lost.
  planning: ['planned', 'plan_queued', 'canceled', 'force_canceled', 'errored'],
  planned: ['post_plan_running', 'planned_and_finished', 'planned_and_saved', 'confirmed', 'discarded', 'canceled'],
  post_plan_running: [
    'post_plan_completed',
    'post_plan_awaiting_decision',
    'discarded',
    'canceled',
    'force_canceled',
    'errored',
  ],
  post_plan_awaiting_decision: ['post_plan_completed', 'discarded', 'canceled', 'errored'],
  post_plan_completed: ['planned_and_finished', 'planned_and_saved', 'confirmed', 'discarded', 'canceled'],
  planned_and_saved: ['confirmed', 'discarded'],
  // Errored when the state has changed since the plan.
  confirmed: ['pre_apply_running', 'queuing_apply', 'canceled', 'errored'],
  pre_apply_running: ['pre_apply_completed', 'canceled', 'force_canceled', 'errored'],
  pre_apply_completed: ['queuing_apply'],
  queuing_apply: ['apply_queued'],
  apply_queued: ['applying', 'canceled'],
  // Back to apply_queued only when an agent releases the job before the apply has started.
  applying: ['post_apply_running', 'applied', 'apply_queued', 'canceled', 'force_canceled', 'errored'],
  post_apply_running: ['post_apply_completed'],
  post_apply_completed: ['applied'],
  planned_and_finished: [],
  applied: [],
  discarded: [],
  canceled: [],
  force_canceled: [],
  errored: [],
} as const satisfies Record<RunStatus, readonly RunStatus[]>

export const RUN_STATUSES = Object.keys(NEXT) as RunStatus[]

/** Whether the status is final. A saved plan can still be applied, so it has not ended. */
export function isEnded(status: RunStatus) {
  return NEXT[status].length === 0
}

export const ENDED = RUN_STATUSES.filter(isEnded)
/** The statuses that lists and clients call final. They include saved plans. */
export const FINAL: readonly RunStatus[] = [...ENDED, 'planned_and_saved']
export const UNFINISHED = RUN_STATUSES.filter((status) => !FINAL.includes(status))

/** The statuses in which a run can be discarded: it is pending or waits for a decision. */
export const DISCARDABLE: readonly RunStatus[] = [
  'pending',
  'planned',
  'post_plan_running',
  'post_plan_awaiting_decision',
  'post_plan_completed',
  'planned_and_saved',
]

/** The statuses in which a run waits for confirmation. */
const CONFIRMABLE: ReadonlySet<RunStatus> = new Set(['planned', 'post_plan_completed', 'planned_and_saved'])

/** The statuses in which a run can be canceled. */
const CANCELABLE: ReadonlySet<RunStatus> = new Set(
  RUN_STATUSES.filter((status) => NEXT[status].some((next) => next === 'canceled')),
)

type Cancelable = { status: RunStatus; cancel_requested_at: Date | null; force_cancel_available_at: Date | null }

/** Whether the run waits for a confirmation. */
export function isConfirmable(run: Pick<Cancelable, 'status'>) {
  return CONFIRMABLE.has(run.status)
}

export function isDiscardable(run: Pick<Cancelable, 'status'>) {
  return DISCARDABLE.includes(run.status)
}

export function isCancelable(run: Cancelable) {
  return CANCELABLE.has(run.status) && run.cancel_requested_at === null
}

/** Whether a forced cancel can end the run's current work. Tasks after an apply are left to end. */
export function isForcible(status: RunStatus) {
  return NEXT[status].some((next) => next === 'force_canceled')
}

/** A run can be canceled by force only some time after a cancel. */
export function isForceCancelable(run: Cancelable, now: Date) {
  return (
    run.cancel_requested_at !== null &&
    run.force_cancel_available_at !== null &&
    run.force_cancel_available_at <= now &&
    isForcible(run.status)
  )
}
