import type { AuditEvent } from '../../../audit/record.ts'

export function configurationVersionAudit(
  organizationId: string,
  action: string,
  version: { id: string; workspace_id: string },
): AuditEvent {
  return {
    organizationId,
    action,
    resource: { type: 'configuration_version', id: version.id },
    meta: { workspace: version.workspace_id },
    notices: [],
  }
}
