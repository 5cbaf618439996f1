import type { AuditEvent } from '../../../audit/record.ts'

export function agentPoolAudit(
  pool: { id: string; organizationId: string },
  action: 'create' | 'update' | 'destroy',
  meta: Record<string, unknown>,
): AuditEvent {
  const { id, organizationId } = pool
  return {
    organizationId,
    action,
    resource: { type: 'agent_pool', id },
    meta,
    notices: [{ type: 'agent-pools', id }],
  }
}
