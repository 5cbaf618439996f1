import { type Stage, TAG_LEVELS, type TaskHealthResource } from '@groundstate/contract/run-tasks'
import type * as contract from '@groundstate/contract/task-results'
import type { WorkspacePermission } from '../../../auth/permissions.ts'
import { attemptAttributes } from '../../../deliveries/attempts.ts'
import type { TaskDeliveryRow, TaskHealthRow } from './deliveries-store.ts'
import type { TaskOutcomeRow } from './outcomes-store.ts'
import type { TaskResultRow } from './store.ts'

export function taskResultResource(row: TaskResultRow & { plan_only: boolean }): contract.TaskResultResource {
  const self = `/api/v2/task-results/${row.id}`
  return {
    id: row.id,
    type: 'task-results',
    attributes: {
      status: row.status,
      message: row.message ?? '',
      'status-timestamps': timestamps(row.status_timestamps as Record<string, string>),
      url: row.url ?? '',
      'created-at': row.created_at,
      'updated-at': row.updated_at,
      'task-id': row.task_id,
      'task-name': row.task_name,
      'task-url': row.task_url,
      stage: row.stage,
      'is-speculative': row.plan_only,
      'workspace-task-id': row.workspace_task_id,
      'workspace-task-enforcement-level': row.enforcement_level,
      'agent-pool-id': row.agent_pool_id,
      'task-result-outcomes-count': row.outcomes_count,
      'outcome-levels': outcomeLevels(row.outcome_levels as Partial<Record<Level, number>>),
      'delivery-attempts': row.attempts,
      'delivered-at': row.delivered_at,
      'next-delivery-at': row.delivery_due_at,
      'deadline-at': row.status === 'running' ? row.deadline_at : null,
    },
    relationships: {
      'task-stage': { data: { id: row.task_stage_id, type: 'task-stages' } },
      'task-result-outcomes': { links: { related: `${self}/outcomes` } },
      deliveries: { links: { related: `${self}/deliveries` } },
    },
    links: { self },
  }
}

type Level = (typeof TAG_LEVELS)[number]

function outcomeLevels(counts: Partial<Record<Level, number>>) {
  return Object.fromEntries(TAG_LEVELS.map((level) => [level, counts[level] ?? 0])) as Record<Level, number>
}

/** `awaiting_override` → `awaiting-override-at`. */
export function timestamps(stamps: Record<string, string>) {
  return Object.fromEntries(Object.entries(stamps).map(([status, at]) => [`${status.replaceAll('_', '-')}-at`, at]))
}

export function taskOutcomeResource(row: TaskOutcomeRow): contract.TaskResultOutcomeResource {
  const self = `/api/v2/task-result-outcomes/${row.id}`
  return {
    id: row.id,
    type: 'task-result-outcomes',
    attributes: {
      'outcome-id': row.outcome_id,
      description: row.description,
      tags: row.tags as contract.TagGroup[],
      url: row.url,
      'has-body': row.has_body,
      'created-at': row.created_at,
    },
    relationships: { 'task-result': { data: { id: row.task_result_id, type: 'task-results' } } },
    links: row.has_body ? { self, body: `${self}/body` } : { self },
  }
}

/** A delivery in the list of its task; `can` is undefined for a run that the actor may not read. */
type ListedDelivery = ShownDelivery & {
  stage: Stage
  result_status: contract.TaskResultStatus
  run_id: string
  workspace_name: string
  can: ReadonlySet<WorkspacePermission> | undefined
}

export function deliveryOfTaskResource({ can, ...row }: ListedDelivery): contract.DeliveryOfTaskResource {
  const { attributes, relationships, ...identifier } = taskDeliveryResource({ ...row, isHidden: row.isHidden || !can })
  const shown = <T>(value: T) => (can ? value : null)
  return {
    ...identifier,
    attributes: {
      ...attributes,
      request: shown(attributes.request),
      status: row.response_status === 200 ? 'succeeded' : 'failed',
      stage: shown(row.stage),
      'run-id': shown(row.run_id),
      'workspace-name': shown(row.workspace_name),
      'result-status': shown(row.result_status),
      permissions: { 'can-redeliver': can?.has('runs:apply') ?? false },
    },
    relationships: can ? relationships : { 'task-result': { data: null } },
  }
}

export function taskHealthResource(row: TaskHealthRow): TaskHealthResource {
  const succeeded = row.recent.filter(Boolean).length
  return {
    id: row.task_id,
    type: 'task-healths',
    attributes: {
      recent: row.recent,
      succeeded,
      failed: row.recent.length - succeeded,
      'median-ms': row.median_ms,
      'p95-ms': row.p95_ms,
      'last-sent-at': row.last_sent_at,
      'last-error': row.last_error,
      'last-error-at': row.last_error_at,
    },
    relationships: { task: { data: { id: row.task_id, type: 'tasks' } } },
  }
}

type ShownDelivery = Omit<TaskDeliveryRow, 'task_id'> & { isHidden: boolean }

export function taskDeliveryResource(row: ShownDelivery): contract.TaskDeliveryResource {
  return {
    id: row.id,
    type: 'task-deliveries',
    attributes: {
      attempt: row.attempt,
      ...attemptAttributes(row),
      error: row.error,
      'agent-name': row.agent_name,
      'next-attempt-at': row.next_attempt_at,
    },
    relationships: { 'task-result': { data: { id: row.task_result_id, type: 'task-results' } } },
  }
}
