import type { AuditEvent } from '../../../audit/record.ts'

type AuditedVersion = {
  id: string
  serial: number
  workspace_id: string
  organization_id: string
}

/** What the audit trail records of a change to a state version. */
export function stateVersionAudit(version: AuditedVersion, action: string, meta?: { rollback_of: string }): AuditEvent {
  const { id, serial, workspace_id: workspace, organization_id: organizationId } = version
  return {
    organizationId,
    action,
    resource: { type: 'state_version', id },
    meta: { workspace, serial, ...meta },
    notices: [
      { type: 'state-versions', id, workspace },
      { type: 'workspaces', id: workspace, workspace },
    ],
  }
}
