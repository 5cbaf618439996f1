import type { AuditEvent } from '../../../audit/record.ts'

/** The audit event of a change of a membership. */
export function membershipAudit(
  { id, organization_id: organizationId }: { id: string; organization_id: string },
  action: 'create' | 'update' | 'destroy',
  meta: Record<string, unknown>,
): AuditEvent {
  return {
    organizationId,
    action,
    resource: { type: 'organization_user', id },
    meta,
    notices: [{ type: 'organization-memberships', id }],
    changesAccess: true,
  }
}
