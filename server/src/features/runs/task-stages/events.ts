import { domainEvent } from '../../../events/events.ts'

/** A deferred verdict is no longer deferred: the run ends with this error. The transaction has locked its workspace. */
export const verdictReported = domainEvent<{ runId: string; error: string | null }>('task-stage.verdict-reported')
