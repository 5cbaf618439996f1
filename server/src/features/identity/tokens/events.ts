import { domainEvent } from '../../../events/events.ts'

/** A token was deleted. Raised in the transaction of that. */
export const tokenDeleted = domainEvent<{ tokenId: string }>('token.deleted')
