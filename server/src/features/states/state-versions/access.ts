import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import type { AccessContext } from '../../../auth/access-context.ts'
import type { WorkspacePermission } from '../../../auth/permissions.ts'
import { checkSignInPolicy } from '../../../auth/sign-in-policy.ts'
import { readAccess } from '../../../auth/workspace-access.ts'
import { announce } from '../../../changes/announce.ts'
import { notFound } from '../../../errors.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import * as store from './store.ts'

export type StateVersion = Omit<store.FoundStateVersion, 'access'> & { access: AccessContext }

/** Throws the same `not-found` for a version that does not exist and for one that the actor may not read (INTERFACE §4.5.4). */
export async function requireStateVersion(
  ctx: Ctx,
  id: string,
  permission: WorkspacePermission = 'state-versions:read',
): Promise<StateVersion> {
  return authorised(ctx, await store.findStateVersion(ctx.db, ctx.actor, { id }), permission)
}

/** Also throws `not-found` if the workspace has no current state. */
export async function requireCurrentStateVersion(ctx: Ctx, workspaceId: string): Promise<StateVersion> {
  const row = await store.findStateVersion(ctx.db, ctx.actor, { currentOf: workspaceId })
  return authorised(ctx, row, 'state-versions:read')
}

function authorised(ctx: Ctx, row: store.FoundStateVersion | undefined, permission: WorkspacePermission): StateVersion {
  if (!row) throw notFound('state version')
  const { access, can } = readAccess(ctx.actor, row)
  if (can.size > 0) checkSignInPolicy(access)
  if (!can.has(permission)) throw notFound('state version')
  return { ...row, access }
}

export async function listReadableStateVersions(ctx: Ctx, ids: readonly string[]): Promise<StateVersion[]> {
  if (ids.length === 0) return []
  const rows = await store.findStateVersions(ctx.db, ctx.actor, ids)
  return rows.flatMap((row) => {
    const { access, can } = readAccess(ctx.actor, row)
    return !access.signInRequirement && can.has('state-versions:read') ? { ...row, access } : []
  })
}

/** As `requireWorkspace`, but throws `not-found` without the permission on states (INTERFACE §4.3.4). */
export async function requireStateWorkspace(
  ctx: Ctx,
  workspaceId: string,
  permission: 'state-versions:read' | 'state-versions:write' | 'state-outputs:read',
) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'workspace:read')
  if (!workspace.can.has(permission)) throw notFound('workspace')
  return workspace
}

/** Throws `not-found` unless the caller may roll back the state. */
export async function requireRollbackWorkspace(ctx: Ctx, workspaceId: string) {
  const workspace = await requireStateWorkspace(ctx, workspaceId, 'state-versions:write')
  // A run's token writes only what its engine stores (INTERFACE §4.7.3).
  if (ctx.actor.kind === 'run') throw notFound('workspace')
  return workspace
}

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
