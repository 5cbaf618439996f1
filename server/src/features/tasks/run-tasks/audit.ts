import type { AuditEvent } from '../../../audit/record.ts'
import type { TaskRow } from './store.ts'

/** `changes` are names of attributes: a URL may hold a secret, as the key does. */
export function taskAudit(
  task: Pick<TaskRow, 'id' | 'name' | 'organization_id'>,
  action: 'create' | 'update' | 'destroy',
  changes?: readonly string[],
): AuditEvent {
  return {
    organizationId: task.organization_id,
    action,
    resource: { type: 'task', id: task.id },
    meta: { name: task.name, changes },
    notices: [{ type: 'tasks', id: task.id }],
  }
}
