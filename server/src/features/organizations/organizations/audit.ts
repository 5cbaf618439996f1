import type { UpdateOrganization } from '@groundstate/contract/organizations'
import type { AuditEvent } from '../../../audit/record.ts'

export function organizationAudit(
  { id, name }: { id: string; name: string },
  action: string,
  changes?: UpdateOrganization['attributes'] & { plan?: string },
): AuditEvent {
  return {
    organizationId: id,
    action,
    resource: { type: 'organization', id },
    meta: changes === undefined ? { name } : { name, changes },
    // The id of an organization in the API is its name.
    notices: action === 'create' ? [] : [{ type: 'organizations', id: changes?.name ?? name }],
    changesAccess: action !== 'create',
  }
}
