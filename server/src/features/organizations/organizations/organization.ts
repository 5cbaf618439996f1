import type { AccessContext } from '../../../auth/access-context.ts'
import type { OrganizationPermission } from '../../../auth/permissions.ts'
import type * as store from './store.ts'

/** An organization that the actor may see, with what it may do there. */
export type Organization = Omit<FoundOrganization, 'access'> & {
  can: ReadonlySet<OrganizationPermission>
  access: AccessContext
}

export type FoundOrganization = NonNullable<Awaited<ReturnType<typeof store.findOrganization>>>
