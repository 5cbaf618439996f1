import { domainEvent } from '../../../events/events.ts'

/** An organization is about to be deleted with everything in it. Raised in the transaction of that, before anything is locked. */
export const organizationDeleting = domainEvent<{ organizationId: string }>('organization.deleting')
