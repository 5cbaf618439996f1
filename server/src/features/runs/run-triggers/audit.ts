import type { RunTriggerRow } from './store.ts'

export function runTriggerAudit(trigger: RunTriggerRow, action: 'create' | 'destroy') {
  const { id, organization_id: organizationId, workspace_id: workspace, source_id: source } = trigger
  return { organizationId, action, resource: { type: 'run_trigger', id }, meta: { workspace, source } }
}
