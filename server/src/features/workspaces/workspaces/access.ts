import type { Identifier } from '@groundstate/contract/json-api'
import { LRUCache } from 'lru-cache'
import type { Ctx } from '../../../app.ts'
import { type AccessContext, readAccessContext } from '../../../auth/access-context.ts'
import type { UserActor } from '../../../auth/actor.ts'
import { type WorkspacePermission, refusal } from '../../../auth/permissions.ts'
import { checkSignInPolicy } from '../../../auth/sign-in-policy.ts'
import { workspacePermissions } from '../../../auth/workspace-permissions.ts'
import { rejectTakenName } from '../../../db/db.ts'
import { invalid, notFound } from '../../../errors.ts'
import { webhookUrl } from '../../vcs/repositories/webhook-url.ts'
import { type Grants, findGrants } from './list-store.ts'
import * as store from './store.ts'

/** Throws `not-found` if the workspace is not visible or `permission` is to read, else `forbidden`. Loads and authorises in one query. */
export async function requireWorkspace(ctx: Ctx, id: string, permission: WorkspacePermission): Promise<Workspace> {
  return requireWorkspaceBy(ctx, { id }, permission)
}

/** As `requireWorkspace`, by id, or by the names of the organization and the workspace. */
export async function requireWorkspaceBy(ctx: Ctx, key: store.WorkspaceKey, permission: WorkspacePermission) {
  return requireFound(ctx, await store.findWorkspace(ctx.db, ctx.actor, key), permission)
}

/** The workspace to show; with its details, in the same query, unless an engine asks. */
export async function requireShownWorkspace(ctx: Ctx, key: store.WorkspaceKey): Promise<Workspace> {
  const { actor, db } = ctx
  if (actor.kind === 'run') return requireWorkspaceBy(ctx, key, 'workspace:read')
  const row = await store.findDetailed(db, actor, key)
  return { ...requireFound(ctx, row, 'workspace:read'), details: row }
}

function requireFound(ctx: Ctx, row: FoundWorkspace | undefined, permission: WorkspacePermission) {
  const workspace = row && readableWorkspace(ctx, row)
  if (!workspace) throw notFound('workspace')
  checkSignInPolicy(workspace.access)
  checkPermission(workspace, permission)
  return workspace
}

export function checkPermission({ can, name }: Workspace, permission: WorkspacePermission) {
  if (!can.has(permission)) throw refusal(permission, `on the workspace ${name}`)
}

/** The workspace with the actor's permissions; undefined when the actor may not see it. */
export function readableWorkspace(ctx: Ctx, row: FoundWorkspace): Workspace | undefined {
  const { access: column, organization_id: organizationId, id: workspaceId } = row
  const access = readAccessContext(ctx.actor, { organizationId, workspaceId, access: column })
  const can = workspacePermissions(access)
  return can.has('workspace:read')
    ? { ...row, can, access, webhook_url: row.repository && webhookUrl(ctx, row.repository) }
    : undefined
}

export async function listReadableWorkspaces(ctx: Ctx, ids: readonly string[]): Promise<Workspace[]> {
  if (ids.length === 0) return []
  const rows = await store.findWorkspaces(ctx.db, ctx.actor, ids)
  return rows.flatMap((row) => {
    const workspace = readableWorkspace(ctx, row)
    return workspace && !workspace.access.signInRequirement ? workspace : []
  })
}

/** Throws the same `invalid` for a workspace that does not exist, is not visible, or belongs to another organization. */
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

/** The workspaces of a body. Throws `invalid` for one that is not visible in the organization, `forbidden` without `permission`. */
export async function requireWorkspaces(
  ctx: Ctx,
  { organizationId, permission }: { organizationId: string; permission: WorkspacePermission },
  identifiers: readonly Identifier[],
) {
  const ids = identifiers.map(({ id }) => id)
  const readable = new Map((await listReadableWorkspaces(ctx, ids)).map((workspace) => [workspace.id, workspace]))
  return ids.map((id, index) => {
    const workspace = readable.get(id)
    if (workspace?.organization_id !== organizationId) {
      throw invalid(`there is no workspace ${id} in the organization`, `/data/${index}/id`)
    }
    checkPermission(workspace, permission)
    return workspace
  })
}

type FoundWorkspace = NonNullable<Awaited<ReturnType<typeof store.findWorkspace>>>

/** A visible workspace with the actor's permissions. */
export type Workspace = Omit<FoundWorkspace, 'access'> & {
  can: ReadonlySet<WorkspacePermission>
  access: AccessContext
  /** Known if the workspace was loaded to be shown. */
  details?: store.Details | undefined
  /** The URL to which the host of its repository sends events; null without one. */
  webhook_url: string | null
}

export function permissionsBlock(workspace: Workspace) {
  const { can } = workspace
  return {
    'can-update': can.has('workspace:update'),
    'can-destroy': can.has('workspace:delete'),
    // The CLI infers from its presence that the server supports safe delete.
    'can-force-delete': mayForceDelete(workspace),
    'can-queue-run': can.has('runs:plan'),
    'can-queue-apply': can.has('runs:apply'),
    'can-queue-destroy': can.has('runs:apply') && workspace.allow_destroy_plan,
    'can-read-run': can.has('runs:read'),
    'can-read-variable': can.has('variables:read'),
    'can-update-variable': can.has('variables:write'),
    'can-read-state-versions': can.has('state-versions:read'),
    'can-read-state-outputs': can.has('state-outputs:read'),
    'can-create-state-versions': can.has('state-versions:write'),
    'can-lock': can.has('lock'),
    'can-unlock': can.has('lock'),
    'can-force-unlock': can.has('force-unlock'),
    'can-read-settings': can.has('workspace:read'),
    'can-manage-tags': can.has('tags:manage'),
    'can-manage-run-tasks': can.has('run-tasks:manage'),
    'can-manage-assessments': false,
    'can-read-assessment-results': can.has('runs:read'),
    'can-manage-ephemeral-workspaces': can.has('workspace:update'),
    'can-manage-hyok': false,
  }
}

/**
 * Whether the actor may delete a workspace that still manages resources: owners always, others with the permission to delete only if
 * the organization allows it (public documentation: organizations, `allow-force-delete-workspaces`).
 */
export function mayForceDelete(workspace: Workspace) {
  const { role } = workspace.access
  if (role === 'owner' || role === 'organization-token' || role === 'system') return true
  return workspace.allow_force_delete_workspaces && workspace.can.has('workspace:delete')
}

/**
 * Counting the grants of a hundred teams takes milliseconds, so the result is cached until the organization's `access_revision`
 * changes. Every change of members and grants raises it and every request reads it, so only the estimates can be stale, by at most a
 * minute.
 */
const cache = new LRUCache<string, { revision: number; grants: Grants }>({ max: 10_000, ttl: 60_000 })

export async function readGrants(ctx: Ctx, actor: UserActor, organization: { id: string; access_revision: number }) {
  const key = `${organization.id}/${actor.userId}`
  const cached = cache.get(key)
  if (cached?.revision === organization.access_revision) return cached.grants
  const grants = await findGrants(ctx.db, actor, organization.id)
  cache.set(key, { revision: organization.access_revision, grants })
  return grants
}

/** Runs a change that sets a workspace's name. Throws `invalid` when the name is taken in the organization. */
export async function rejectTakenWorkspaceName<T>(name: string, work: () => Promise<T>) {
  const detail = `Name has already been taken: there is a workspace ${name}`
  return rejectTakenName({ constraint: 'workspaces_name_key', detail }, work)
}
