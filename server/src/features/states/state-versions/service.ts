import type { Ctx, TransactionCtx } from '../../../app.ts'
import type { WorkspacePermission } from '../../../auth/permissions.ts'
import { readAccess } from '../../../auth/workspace-access.ts'
import { invalidParameter, notFound } from '../../../errors.ts'
import { requireWorkspaceByName } from '../../workspaces/workspaces/access.ts'
import { type Surroundings, surroundingsOf } from './create.ts'
import * as store from './store.ts'
import type { Page, Paged } from '../../../db/page.ts'
import { checkDemands } from '../../../auth/demands.ts'
import type { Facts } from '../../../auth/facts.ts'

/** A version whose workspace the actor may see, with what it may do there. */
export type StateVersion = Omit<store.FoundStateVersion, 'facts'> & { facts: Facts }

/** Throws `not-found` for what does not exist, what may not be seen and what may not be read alike (INTERFACE §4.5.4). */
export async function requireStateVersion(
  ctx: Ctx,
  id: string,
  permission: WorkspacePermission = 'state-versions:read',
): Promise<StateVersion> {
  return authorised(ctx, await store.findStateVersion(ctx.db, ctx.actor, { id }), permission)
}

export async function showStateVersion(ctx: Ctx, id: string) {
  return requireStateVersion(ctx, id)
}

/** The input state of runs. Throws `not-found` too when the workspace has none. */
export async function showCurrentStateVersion(ctx: Ctx, workspaceId: string) {
  return authorised(
    ctx,
    await store.findStateVersion(ctx.db, ctx.actor, { currentOf: workspaceId }),
    'state-versions:read',
  )
}

function authorised(ctx: Ctx, row: store.FoundStateVersion | undefined, permission: WorkspacePermission): StateVersion {
  if (!row) throw notFound('state version')
  const { facts, can } = readAccess(ctx.actor, row)
  if (can.size > 0) checkDemands(facts)
  if (!can.has(permission)) throw notFound('state version')
  return { ...row, facts }
}

/** Those of the versions that the actor may read. */
export async function listReadableStateVersions(ctx: Ctx, ids: readonly string[]): Promise<StateVersion[]> {
  if (ids.length === 0) return []
  const rows = await store.findStateVersions(ctx.db, ctx.actor, ids)
  return rows.flatMap((row) => {
    const { facts, can } = readAccess(ctx.actor, row)
    return !facts.demands && can.has('state-versions:read') ? { ...row, facts } : []
  })
}

/** The versions of one workspace, the newest first. */
export async function listStateVersions(
  ctx: Ctx,
  filter: { organization: unknown; workspace: unknown; status: unknown },
  page: Page,
): Promise<Paged<store.PresentedRow> & { surroundings: Surroundings }> {
  const organization = requiredFilter('filter[organization][name]', filter.organization)
  const name = requiredFilter('filter[workspace][name]', filter.workspace)
  const status = readStatus(filter.status)
  const workspace = await requireWorkspaceByName(ctx, organization, name, 'workspace:read')
  if (!workspace.can.has('state-versions:read')) throw notFound('workspace')
  const [rows, total] = await Promise.all([
    store.listStateVersions(ctx.db, workspace.id, { page, status }),
    status === undefined ? workspace.state_version_count : store.countStateVersions(ctx.db, workspace.id, status),
  ])
  return { rows, total, surroundings: surroundingsOf(workspace) }
}

function requiredFilter(name: string, value: unknown) {
  if (typeof value === 'string' && value !== '') return value
  const given = Array.isArray(value) ? `is given ${value.length} times` : 'is missing'
  throw invalidParameter(`${name} ${given}: it must name one`, name)
}

const LISTED = ['pending', 'finalized', 'discarded'] as const

function readStatus(value: unknown) {
  if (value === undefined || value === '') return undefined
  const status = LISTED.find((name) => name === value)
  if (status) return status
  throw invalidParameter(
    `filter[status] is ${JSON.stringify(value)}, it must be one of ${LISTED.join(', ')}`,
    'filter[status]',
  )
}

/** The columns of a workspace's row, read under its lock, that tell what a release of the workspace has to settle. */
export type Releasable = {
  id: string
  pending_state_version_id: string | null
  latest_state_version_id: string | null
  current_state_version_id: string | null
}

/**
 * Makes the last snapshot of a workspace its current state: for every release of its lock, forced ones included, and for
 * the end of the run that wrote it. Does nothing when there is none.
 */
export async function promoteIntermediate(ctx: TransactionCtx, workspace: Releasable) {
  if (workspace.latest_state_version_id === workspace.current_state_version_id) return
  await store.promoteLatest(ctx.db, workspace.id)
}
