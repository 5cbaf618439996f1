import { domainEvent } from '../../../events/events.ts'

/** The limit of a pool on jobs at once was set or lifted. Raised in the transaction of that. */
export const poolLimitChanged = domainEvent<{ poolId: string }>('agent-pool.limit-changed')
