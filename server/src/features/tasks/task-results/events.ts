import { domainEvent } from '../../../events/events.ts'

/** Stages of a run have no open result any more. The transaction has locked the run's workspace. */
export const resultsEnded = domainEvent<{ runId: string; stageIds: readonly string[] }>('task-results.ended')
