import type { Ctx } from '../../../app.ts'
import type { AccessContext } from '../../../auth/access-context.ts'
import type { WorkspacePermission } from '../../../auth/permissions.ts'
import { checkSignInPolicy } from '../../../auth/sign-in-policy.ts'
import { readAccess } from '../../../auth/workspace-access.ts'
import { notFound } from '../../../errors.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import * as store from './store.ts'

/** A version whose workspace the actor may see. */
export type StateVersion = Omit<store.FoundStateVersion, 'access'> & { access: AccessContext }

/** Throws `not-found` alike for a version that does not exist and for one that the actor may not read (INTERFACE §4.5.4). */
export async function requireStateVersion(
  ctx: Ctx,
  id: string,
  permission: WorkspacePermission = 'state-versions:read',
): Promise<StateVersion> {
  return authorised(ctx, await store.findStateVersion(ctx.db, ctx.actor, { id }), permission)
}

/** The input state of runs. Throws `not-found` too when the workspace has none. */
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

/** Those of the versions that the actor may read. */
export async function listReadableStateVersions(ctx: Ctx, ids: readonly string[]): Promise<StateVersion[]> {
  if (ids.length === 0) return []
  const rows = await store.findStateVersions(ctx.db, ctx.actor, ids)
  return rows.flatMap((row) => {
    const { access, can } = readAccess(ctx.actor, row)
    return !access.signInRequirement && can.has('state-versions:read') ? { ...row, access } : []
  })
}

/** As `requireWorkspace`, but an actor without the permission on states gets `not-found` (INTERFACE §4.3.4). */
export async function requireStateWorkspace(
  ctx: Ctx,
  workspaceId: string,
  permission: 'state-versions:read' | 'state-versions:write' | 'state-outputs:read',
) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'workspace:read')
  if (!workspace.can.has(permission)) throw notFound('workspace')
  return workspace
}

/** The workspace, for a caller who may roll its state back. Throws `not-found` for everyone else. */
export async function requireRollbackWorkspace(ctx: Ctx, workspaceId: string) {
  const workspace = await requireStateWorkspace(ctx, workspaceId, 'state-versions:write')
  // The token of a run writes what its engine stores; to roll back is for users and teams (INTERFACE §4.7.3).
  if (ctx.actor.kind === 'run') throw notFound('workspace')
  return workspace
}
