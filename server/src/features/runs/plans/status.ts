import type { Selectable } from 'kysely'
import type { Schema } from '../../../db/schema.gen.ts'

/** A phase of a run is its plan or its apply, which agents execute. */
export type PhaseStatus = Selectable<Schema['phases']>['status']

/** Whether a phase has ended; clients wait for these statuses. */
export function isPhaseOver(status: PhaseStatus) {
  return status === 'finished' || status === 'errored' || status === 'canceled' || status === 'unreachable'
}
