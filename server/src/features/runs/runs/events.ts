import { domainEvent } from '../../../events/events.ts'
import type { RunRow } from './locked-run.ts'

/** An apply has succeeded; raised in the transaction that records it. */
export const runApplied = domainEvent<RunRow>('run.applied')
