import type { Wire } from '@groundstate/contract/responses'
import { FINAL_STATUSES } from '@groundstate/contract/run-status'
import type { runSchema } from '@groundstate/contract/runs'

type Facts = Pick<Wire<typeof runSchema>['attributes'], 'status' | 'status-timestamps' | 'updated-at'>

/** When a run has ended; null while something can still happen to it. A saved plan rests until somebody applies it. */
export function runEnd(run: Facts) {
  if (!FINAL_STATUSES.includes(run.status)) return null
  return run['status-timestamps'][`${run.status.replaceAll('_', '-')}-at`] ?? run['updated-at']
}
