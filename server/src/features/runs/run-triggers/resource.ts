import type { RunTriggerResource } from '@groundstate/contract/run-triggers'
import type { RunTriggerRow } from './store.ts'

export function runTriggerResource(trigger: RunTriggerRow): RunTriggerResource {
  return {
    id: trigger.id,
    type: 'run-triggers',
    attributes: {
      'workspace-name': trigger.workspace_name,
      'sourceable-name': trigger.source_name,
      'created-at': trigger.created_at,
    },
    relationships: {
      workspace: { data: { id: trigger.workspace_id, type: 'workspaces' } },
      sourceable: { data: { id: trigger.source_id, type: 'workspaces' } },
    },
    links: { self: `/api/v2/run-triggers/${trigger.id}` },
  }
}
