import type { Identifier } from '@groundstate/contract/json-api'
import type { Ctx } from '../../../app.ts'
import { readAccessContext } from '../../../auth/access-context.ts'
import { checkDemands } from '../../../auth/demands.ts'
import { type WorkspacePermission, refusal } from '../../../auth/permissions.ts'
import { workspacePermissions } from '../../../auth/workspace-permissions.ts'
import { invalid, notFound } from '../../../errors.ts'
import * as store from './store.ts'
import type { FoundWorkspace, Workspace } from './workspace.ts'

/**
 * Loads the workspace and checks `permission` in one query. Throws `not-found` when the actor may not see it, or what
 * the permission is to read, and `forbidden` when it sees it but lacks a permission to do something.
 */
export async function requireWorkspace(ctx: Ctx, id: string, permission: WorkspacePermission): Promise<Workspace> {
  return authorised(ctx, await store.findWorkspace(ctx.db, ctx.actor, { id }), permission)
}

export async function requireWorkspaceByName(
  ctx: Ctx,
  organization: string,
  name: string,
  permission: WorkspacePermission,
): Promise<Workspace> {
  return authorised(ctx, await store.findWorkspace(ctx.db, ctx.actor, { organization, name }), permission)
}

/** By its id, or by the names of its organization and itself: most endpoints come in both forms. */
export async function requireWorkspaceBy(ctx: Ctx, key: store.WorkspaceKey, permission: WorkspacePermission) {
  return authorised(ctx, await store.findWorkspace(ctx.db, ctx.actor, key), permission)
}

function authorised(ctx: Ctx, row: FoundWorkspace | undefined, permission: WorkspacePermission): Workspace {
  const workspace = row && readableWorkspace(ctx, row)
  if (!workspace) throw notFound('workspace')
  checkDemands(workspace.access)
  if (!workspace.can.has(permission)) {
    throw refusal(permission, `on the workspace ${workspace.name}`)
  }
  return workspace
}

/** The workspace with what the actor may do there; undefined when it may not see it. */
export function readableWorkspace(ctx: Ctx, row: FoundWorkspace): Workspace | undefined {
  const { access: column, ...workspace } = row
  const access = readAccessContext(ctx.actor, {
    organizationId: row.organization_id,
    workspaceId: row.id,
    access: column,
  })
  const can = workspacePermissions(access)
  return can.has('workspace:read') ? { ...workspace, can, access } : undefined
}

/** The workspaces among `ids` that the actor may see, in the order of their names, for includes and relations. */
export async function listReadableWorkspaces(ctx: Ctx, ids: readonly string[]): Promise<Workspace[]> {
  if (ids.length === 0) return []
  const rows = await store.findWorkspaces(ctx.db, ctx.actor, ids)
  return rows.flatMap((row) => {
    const workspace = readableWorkspace(ctx, row)
    return workspace && !workspace.access.demands ? workspace : []
  })
}

/**
 * The ids of the workspaces that a body names. Throws `invalid` for a workspace that does not exist, that the actor may
 * not see, or that belongs to another organization, always in the same words.
 */
export async function requireVisibleWorkspaces(
  ctx: Ctx,
  organizationId: string,
  identifiers: readonly Identifier[],
  pointer = '/data',
) {
  const ids = identifiers.map(({ id }) => id)
  const visible = await store.findVisibleWorkspaceIds(ctx.db, ctx.actor, organizationId, ids)
  const missing = ids.findIndex((id) => !visible.has(id))
  if (missing >= 0)
    throw invalid(`there is no workspace ${ids[missing]} in the organization`, `${pointer}/${missing}/id`)
  return ids
}
