import type { Workspace } from './workspace.ts'

export function lockAudit(workspace: Workspace, action: LockAction) {
  const { id, name, organization_id: organizationId } = workspace
  return { organizationId, action, resource: { type: 'workspace', id }, meta: { name } }
}

export type LockAction = 'lock' | 'unlock' | 'force_unlock'
