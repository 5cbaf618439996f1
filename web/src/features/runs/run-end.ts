import type { Wire } from '@groundstate/contract/answers'
import type { runSchema } from '@groundstate/contract/runs'
import { isFinal } from './run-status.tsx'

type Facts = Pick<Wire<typeof runSchema>['attributes'], 'status' | 'status-timestamps' | 'updated-at'>

/** When a run has ended; null while something can still happen to it. A saved plan rests until somebody applies it. */
export function runEnd(run: Facts) {
  if (!isFinal(run.status) && run.status !== 'planned_and_saved') return null
  return run['status-timestamps'][`${run.status.replaceAll('_', '-')}-at`] ?? run['updated-at']
}
