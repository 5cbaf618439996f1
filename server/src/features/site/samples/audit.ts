import type { SampleRow } from './store.ts'

export function sampleAudit(
  { id, organization_id: organizationId }: SampleRow,
  action: 'create' | 'update' | 'destroy',
) {
  return { organizationId, action, resource: { type: 'sample', id } }
}
