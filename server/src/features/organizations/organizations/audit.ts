import type { UpdateOrganization } from '@groundstate/contract/organizations'

export function organizationAudit(
  { id, name }: { id: string; name: string },
  action: string,
  changes?: UpdateOrganization['attributes'],
) {
  const meta = changes === undefined ? { name } : { name, changes }
  return { organizationId: id, action, resource: { type: 'organization', id }, meta }
}
