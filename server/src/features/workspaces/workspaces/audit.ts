import type { AuditEvent } from '../../../audit/record.ts'
import type { Workspace } from './workspace.ts'

export function workspaceAudit(
  workspace: Pick<Workspace, 'id' | 'organization_id'>,
  action: string,
  meta: Record<string, unknown>,
): AuditEvent {
  const { id, organization_id: organizationId } = workspace
  return {
    organizationId,
    action,
    resource: { type: 'workspace', id },
    meta,
    notices: [{ type: 'workspaces', id, workspace: id }],
  }
}

export function lockAudit(workspace: Workspace, action: LockAction) {
  return workspaceAudit(workspace, action, { name: workspace.name })
}

export type LockAction = 'lock' | 'unlock' | 'force_unlock'
