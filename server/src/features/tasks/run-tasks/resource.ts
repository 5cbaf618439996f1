import type { Stage, TaskResource, WorkspaceTaskResource } from '@groundstate/contract/run-tasks'
import type { TaskRow } from './store.ts'
import type { WorkspaceTaskRow } from './workspace-tasks-store.ts'

/** A run task; its key never leaves. `attached` are the workspace tasks that the caller may see. */
export function taskResource(
  task: TaskRow & { organization_name: string },
  attached: readonly { id: string }[],
): TaskResource {
  const self = `/api/v2/tasks/${task.id}`
  return {
    id: task.id,
    type: 'tasks',
    attributes: {
      name: task.name,
      url: task.url,
      description: task.description,
      category: task.category,
      'hmac-key': null,
      'has-hmac-key': task.hmac_key !== null,
      enabled: task.enabled,
      'global-configuration': {
        enabled: task.global_enabled,
        stages: task.global_stages as Stage[],
        'enforcement-level': task.global_enforcement_level,
      },
      'ca-certificate': task.ca_certificates,
      'created-at': task.created_at,
      'updated-at': task.updated_at,
    },
    relationships: {
      organization: { data: { id: task.organization_name, type: 'organizations' } },
      'workspace-tasks': {
        data: attached.map(({ id }) => ({ id, type: 'workspace-tasks' })),
        links: { related: `${self}/relationships/workspace-tasks` },
      },
      'agent-pool': { data: task.agent_pool_id === null ? null : { id: task.agent_pool_id, type: 'agent-pools' } },
    },
    links: { self },
  }
}

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
