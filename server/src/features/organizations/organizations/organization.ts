import type { UpdateOrganization } from '@groundstate/contract/organizations'
import type { Facts } from '../../../auth/facts.ts'
import type { OrganizationPermission } from '../../../auth/permissions.ts'
import type * as store from './store.ts'

/** An organization that the actor may see, with what it may do there. */
export type Organization = Omit<FoundOrganization, 'facts'> & { can: ReadonlySet<OrganizationPermission>; facts: Facts }

export type FoundOrganization = NonNullable<Awaited<ReturnType<typeof store.findOrganization>>>

export function organizationAudit(
  { id, name }: { id: string; name: string },
  action: string,
  changes?: UpdateOrganization['attributes'],
) {
  const meta = changes === undefined ? { name } : { name, changes }
  return { organizationId: id, action, resource: { type: 'organization', id }, meta }
}
