import { workspaceAudit } from '../workspaces/audit.ts'
import type { Workspace } from '../workspaces/workspace.ts'

/** The audit event of a change of what a team may do to the workspace. */
export function teamAccessAudit(workspace: Workspace, action: string, meta: Record<string, string>) {
  return { ...workspaceAudit(workspace, action, meta), changesAccess: true }
}
