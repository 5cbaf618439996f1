import type { Selectable } from 'kysely'
import type { Schema } from '../../../db/schema.gen.ts'

export type RunStatus = Selectable<Schema['runs']>['status']

/** Where a run may go from each status; an empty list marks an end. */
export const NEXT = {
  pending: ['fetching', 'discarded', 'canceled'],
  fetching: ['fetching_completed'],
  fetching_completed: ['pre_plan_running', 'queuing'],
  pre_plan_running: ['pre_plan_completed', 'canceled', 'force_canceled', 'errored'],
  pre_plan_completed: ['queuing'],
  queuing: ['plan_queued'],
  plan_queued: ['planning', 'canceled'],
  // back to plan_queued when the agent is lost
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
  // errored when the state has moved on since the plan was made
  confirmed: ['pre_apply_running', 'queuing_apply', 'canceled', 'errored'],
  pre_apply_running: ['pre_apply_completed', 'canceled', 'force_canceled', 'errored'],
  pre_apply_completed: ['queuing_apply'],
  queuing_apply: ['apply_queued'],
  apply_queued: ['applying', 'canceled'],
  // back to apply_queued only when an agent hands the apply back before it has begun
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

/** Nothing more happens to the run. A saved plan may still be applied, yet holds nothing and waits for nobody. */
export function isEnded(status: RunStatus) {
  return NEXT[status].length === 0
}

export const ENDED = RUN_STATUSES.filter(isEnded)
/** What lists and clients call final: a saved plan is done unless somebody comes back to it. */
export const FINAL: readonly RunStatus[] = [...ENDED, 'planned_and_saved']
export const UNFINISHED = RUN_STATUSES.filter((status) => !FINAL.includes(status))

/** Where a run may be discarded: it waits for a person, or has not begun. */
export const DISCARDABLE: readonly RunStatus[] = [
  'pending',
  'planned',
  'post_plan_running',
  'post_plan_awaiting_decision',
  'post_plan_completed',
  'planned_and_saved',
]

/** Where a run waits for a person to confirm it. */
const CONFIRMABLE: ReadonlySet<RunStatus> = new Set(['planned', 'post_plan_completed', 'planned_and_saved'])

/** Where a run can be canceled. */
const CANCELABLE: ReadonlySet<RunStatus> = new Set(
  RUN_STATUSES.filter((status) => NEXT[status].some((next) => next === 'canceled')),
)

type Asked = { status: RunStatus; cancel_requested_at: Date | null; force_cancel_available_at: Date | null }

/** Whether the run waits for a confirmation. */
export function isConfirmable(run: Pick<Asked, 'status'>) {
  return CONFIRMABLE.has(run.status)
}

export function isDiscardable(run: Pick<Asked, 'status'>) {
  return DISCARDABLE.includes(run.status)
}

export function isCancelable(run: Asked) {
  return CANCELABLE.has(run.status) && run.cancel_requested_at === null
}

/** Whether there is anything that a forced cancel would end: not what comes after an apply. */
export function isForcible(status: RunStatus) {
  return NEXT[status].some((next) => next === 'force_canceled')
}

/** A forced cancel is for what did not heed a cancel in time. */
export function isForceCancelable(run: Asked, now: Date) {
  return (
    run.cancel_requested_at !== null &&
    run.force_cancel_available_at !== null &&
    run.force_cancel_available_at <= now &&
    isForcible(run.status)
  )
}
