import type { Workspace } from '../workspaces/workspace.ts'

/** The audit event of a change of what a team may do to the workspace. */
export function teamAccessAudit(workspace: Workspace, action: string, meta: Record<string, string>) {
  return {
    organizationId: workspace.organization_id,
    action,
    resource: { type: 'workspace', id: workspace.id },
    meta,
  }
}
