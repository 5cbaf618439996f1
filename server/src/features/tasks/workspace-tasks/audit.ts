import type { UpdateWorkspaceTask } from '@groundstate/contract/run-tasks'
import type { AuditEvent } from '../../../audit/record.ts'
import type { WorkspaceTaskRow } from './store.ts'

export function workspaceTaskAudit(
  workspace: { id: string; organization_id: string },
  action: 'create' | 'update' | 'destroy',
  { id, task_id: task, changes }: Pick<WorkspaceTaskRow, 'id' | 'task_id'> & { changes?: UpdateWorkspaceTask },
): AuditEvent {
  return {
    organizationId: workspace.organization_id,
    action,
    resource: { type: 'workspace_task', id },
    meta: { workspace: workspace.id, task, changes },
    notices: [{ type: 'workspace-tasks', id, workspace: workspace.id }],
  }
}
