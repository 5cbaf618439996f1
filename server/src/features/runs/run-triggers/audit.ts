import type { AuditEvent } from '../../../audit/record.ts'
import type { RunTriggerRow } from './store.ts'

export function runTriggerAudit(trigger: RunTriggerRow, action: 'create' | 'destroy'): AuditEvent {
  const { id, organization_id: organizationId, workspace_id: workspace, source_id: source } = trigger
  return {
    organizationId,
    action,
    resource: { type: 'run_trigger', id },
    meta: { workspace, source },
    // Both sides show it.
    notices: [
      { type: 'run-triggers', id, workspace },
      { type: 'run-triggers', id, workspace: source },
    ],
  }
}
