import type { AuditEvent } from '../../../audit/record.ts'

export function agentPoolAudit(
  pool: { id: string; organizationId: string },
  action: 'create' | 'update' | 'destroy',
  meta: Record<string, unknown>,
): AuditEvent {
  return { organizationId: pool.organizationId, action, resource: { type: 'agent_pool', id: pool.id }, meta }
}
