import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import { announce } from '../../../changes/announce.ts'

type VersionLocation = { id: string; workspace_id: string; organization_id: string }
type AuditedVersion = VersionLocation & { serial: number }

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

/** Announces changes to state versions without an audit event, and to their workspaces, which show the current version. */
export function announceVersions(ctx: Ctx, versions: readonly VersionLocation[]) {
  for (const { id, workspace_id: workspace, organization_id: organization } of versions) {
    announce(
      ctx,
      { organization, type: 'state-versions', id, workspace },
      { organization, type: 'workspaces', id: workspace, workspace },
    )
  }
}
