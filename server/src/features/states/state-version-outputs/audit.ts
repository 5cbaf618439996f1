import type { AuditEvent } from '../../../audit/record.ts'

/** What the audit trail records when somebody is shown the value of a sensitive output. */
export function sensitiveOutputAudit(output: {
  id: string
  name: string
  state_version_id: string
  workspace_id: string
  organization_id: string
}): AuditEvent {
  const { id, name, state_version_id: version, workspace_id: workspace, organization_id: organizationId } = output
  return {
    organizationId,
    action: 'read',
    resource: { type: 'state_version_output', id },
    meta: { workspace, state_version: version, name },
    notices: [],
  }
}
