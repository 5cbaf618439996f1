import type { Stage, WorkspaceTaskResource } from '@groundstate/contract/run-tasks'
import type { WorkspaceTaskRow } from './store.ts'

export function workspaceTaskResource(row: WorkspaceTaskRow): WorkspaceTaskResource {
  const stages = row.stages as Stage[]
  return {
    id: row.id,
    type: 'workspace-tasks',
    attributes: {
      'enforcement-level': row.enforcement_level,
      // The older form, for one stage.
      stage: stages[0] ?? null,
      stages,
      'created-at': row.created_at,
      'updated-at': row.updated_at,
    },
    relationships: {
      task: { data: { id: row.task_id, type: 'tasks' } },
      workspace: { data: { id: row.workspace_id, type: 'workspaces' } },
    },
    links: { self: `/api/v2/workspaces/${row.workspace_id}/tasks/${row.id}` },
  }
}
