import type { AuditEvent } from '../../../audit/record.ts'
import type { RunRow } from './locked-run.ts'
import type { Run } from './run.ts'

/** `favoured` is the run for which this one makes room. */
export function runAudit(run: AuditedRun, action: string): AuditEvent {
  return {
    organizationId: run.organization_id,
    action,
    resource: { type: 'run', id: run.id },
    meta: { workspace: run.workspace_id, favoured: run.favoured },
    notices: [{ type: 'runs', id: run.id, workspace: run.workspace_id }],
  }
}

export function runCreationAudit(run: RunRow): AuditEvent {
  const { id, workspace_id: workspace, configuration_version_id: configuration_version } = run
  const { source, is_destroy, plan_only, auto_apply } = run
  return {
    organizationId: run.organization_id,
    action: 'create',
    resource: { type: 'run', id },
    meta: { workspace, configuration_version, source, is_destroy, plan_only, auto_apply },
    notices: [
      { type: 'runs', id, workspace },
      { type: 'workspaces', id: workspace, workspace },
    ],
  }
}

export type AuditedRun = Pick<Run, 'id' | 'organization_id' | 'workspace_id'> & { favoured?: string }
