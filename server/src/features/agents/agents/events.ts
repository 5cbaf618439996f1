import { domainEvent } from '../../../events/events.ts'

/** An agent has deregistered or was deleted: it takes no more jobs. Raised after the commit of that. */
export const agentGone = domainEvent<{ agentId: string }>('agent.gone')
