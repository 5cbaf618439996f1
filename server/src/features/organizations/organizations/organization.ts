import type { Facts } from '../../../auth/facts.ts'
import type { OrganizationPermission } from '../../../auth/permissions.ts'
import type * as store from './store.ts'

/** An organization that the actor may see, with what it may do there. */
export type Organization = Omit<FoundOrganization, 'facts'> & { can: ReadonlySet<OrganizationPermission>; facts: Facts }

export type FoundOrganization = NonNullable<Awaited<ReturnType<typeof store.findOrganization>>>
