import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import { announce } from '../../../changes/announce.ts'

type AuditedVersion = {
  id: string
  serial: number
  workspace_id: string
  organization_id: string
}

/** The audit event of a change to a state version. */
export function stateVersionAudit(version: AuditedVersion, action: string, meta?: { rollback_of: string }): AuditEvent {
  const { id, serial, workspace_id: workspace, organization_id: organizationId } = version
  return {
    organizationId,
    action,
    resource: { type: 'state_version', id },
    meta: { workspace, serial, ...meta },
    notices: [
      { type: 'state-versions', id, workspace },
      { type: 'workspaces', id: workspace, workspace },
    ],
  }
}

type Place = { id: string; workspace_id: string; organization_id: string }

/** Notifies open pages of state versions that no audit event is about, and of their workspaces, which show the current one. */
export function announceVersions(ctx: Ctx, versions: readonly Place[]) {
  for (const { id, workspace_id: workspace, organization_id: organization } of versions) {
    announce(
      ctx,
      { organization, type: 'state-versions', id, workspace },
      { organization, type: 'workspaces', id: workspace, workspace },
    )
  }
}
