import type { AuditEvent } from '../../../audit/record.ts'
import type { SampleRow } from './store.ts'

export function sampleAudit(
  { id, organization_id: organizationId }: SampleRow,
  action: 'create' | 'update' | 'destroy',
): AuditEvent {
  return { organizationId, action, resource: { type: 'sample', id }, notices: [] }
}
