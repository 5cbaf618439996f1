import type {
  NotificationDeliveryResource,
  NotificationResource,
  Trigger,
} from '@groundstate/contract/notification-configurations'
import type { RunStatus } from '@groundstate/contract/run-status'
import { attemptAttributes } from '../../../deliveries/attempts.ts'
import { shownError } from '../notification-configurations/resource.ts'
import type { Notification } from './access.ts'
import type { NotificationDeliveryRow } from './delivery-store.ts'

/** Readers of a project may not see all its workspaces, so only those who manage it see which one a notification is about. */
export function notificationResource(row: Notification): NotificationResource {
  const { subscribable } = row.configuration
  const facts = row.facts as { message: string; workspace_name: string; run_message?: string }
  const isShown = subscribable.canManage || subscribable.type === 'workspaces'
  const runId = isShown ? row.run_id : null
  const self = `/api/v2/notifications/${row.id}`
  return {
    id: row.id,
    type: 'notifications',
    attributes: {
      trigger: row.trigger as Trigger,
      message: facts.message,
      status: row.status,
      'run-id': runId,
      'run-message': isShown ? (facts.run_message ?? null) : null,
      'run-status': row.run_status as RunStatus | null,
      'workspace-id': isShown ? row.workspace_id : null,
      'workspace-name': isShown ? facts.workspace_name : null,
      attempts: row.attempts,
      error: shownError(row, subscribable.canManage),
      'created-at': row.created_at,
      'delivered-at': row.delivered_at,
      'next-attempt-at': row.delivery_due_at,
      permissions: { 'can-redeliver': subscribable.canManage },
    },
    relationships: {
      'notification-configuration': { data: { id: row.configuration.id, type: 'notification-configurations' } },
      run: { data: runId === null ? null : { id: runId, type: 'runs' } },
      deliveries: { links: { related: `${self}/deliveries` } },
    },
    links: { self },
  }
}

export function notificationDeliveryResource(
  row: NotificationDeliveryRow & { isHidden: boolean },
): NotificationDeliveryResource {
  const { request, ...attributes } = attemptAttributes(row)
  return {
    id: row.id,
    type: 'notification-deliveries',
    attributes: {
      attempt: row.attempt,
      status: row.error === null ? 'succeeded' : 'failed',
      ...attributes,
      request: { ...request, method: request.url.startsWith('mailto:') ? 'SMTP' : 'POST' },
      error: row.error,
      'next-attempt-at': row.next_attempt_at,
    },
    relationships: { notification: { data: { id: row.notification_id, type: 'notifications' } } },
  }
}
