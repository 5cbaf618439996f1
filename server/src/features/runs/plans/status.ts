import type { Selectable } from 'kysely'
import type { Schema } from '../../../db/schema.gen.ts'

/** A phase is what agents do for a run: its plan, or its apply. */
export type PhaseStatus = Selectable<Schema['phases']>['status']

/** A phase that has come to its end; clients wait for one of these. */
export function isPhaseOver(status: PhaseStatus) {
  return status === 'finished' || status === 'errored' || status === 'canceled' || status === 'unreachable'
}
