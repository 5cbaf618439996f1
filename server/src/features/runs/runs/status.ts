import { leadsTo, type RunStatus } from '@groundstate/contract/run-status'

type Cancelable = { status: RunStatus; cancel_requested_at: Date | null; force_cancel_available_at: Date | null }

/** Whether the run waits for a confirmation. */
export function isConfirmable(run: Pick<Cancelable, 'status'>) {
  return leadsTo(run.status, 'confirmed')
}

/** Whether the run is pending or waits for a decision. */
export function isDiscardable(run: Pick<Cancelable, 'status'>) {
  return leadsTo(run.status, 'discarded')
}

export function isCancelable(run: Cancelable) {
  return leadsTo(run.status, 'canceled') && run.cancel_requested_at === null
}

/** Whether a forced cancel can end the run's current work. Tasks after an apply are left to end. */
export function isForcible(status: RunStatus) {
  return leadsTo(status, 'force_canceled')
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
