import type { TaskStageResource } from '@groundstate/contract/task-stages'
import { timestamps } from '../../tasks/task-results/resource.ts'
import type { TaskStage } from './store.ts'

export function taskStageResource(stage: TaskStage): TaskStageResource {
  const mayOverride = stage.can.has('policy-overrides')
  return {
    id: stage.id,
    type: 'task-stages',
    attributes: {
      stage: stage.stage,
      status: stage.status,
      'status-timestamps': timestamps(stage.status_timestamps as Record<string, string>),
      // Our own: which task decided, and why.
      message: stage.message,
      'created-at': stage.created_at,
      'updated-at': stage.updated_at,
      permissions: {
        'can-override-policy': mayOverride,
        'can-override-tasks': mayOverride,
        'can-override': mayOverride,
      },
      actions: { 'is-overridable': stage.status === 'awaiting_override' },
    },
    relationships: {
      run: { data: { id: stage.run_id, type: 'runs' } },
      'task-results': { data: stage.results.map(({ id }) => ({ id, type: 'task-results' })) },
      // Clients expect the relation, although policies are not evaluated here.
      'policy-evaluations': { data: [] },
    },
    links: { self: `/api/v2/task-stages/${stage.id}` },
  }
}
