import type { Ctx } from '../../../app.ts'
import { readFacts } from '../../../auth/facts.ts'
import {
  checkDemands,
  type Facts,
  type OrganizationPermission,
  organizationPermissions,
  refusal,
} from '../../../auth/permissions.ts'
import { invalid, notFound } from '../../../errors.ts'
import * as store from './store.ts'
import { type Page, type Paged, pageOffset } from '../../../db/page.ts'

/** An organization that the actor may see, with what it may do there. */
export type Organization = Omit<Found, 'facts'> & { can: ReadonlySet<OrganizationPermission>; facts: Facts }

/**
 * Loads the organization of that name and checks `permission` in one query. Throws `not-found` when the actor may not
 * see it, or what the permission is to read, `forbidden` when it lacks a permission to do something.
 */
export async function requireOrganization(
  ctx: Ctx,
  name: string,
  permission: OrganizationPermission,
): Promise<Organization> {
  return authorised(ctx, await store.findOrganization(ctx.db, ctx.actor, { name }), permission)
}

export async function requireOrganizationById(
  ctx: Ctx,
  id: string,
  permission: OrganizationPermission,
): Promise<Organization> {
  return authorised(ctx, await store.findOrganization(ctx.db, ctx.actor, { id }), permission)
}

type Found = NonNullable<Awaited<ReturnType<typeof store.findOrganization>>>

function authorised(ctx: Ctx, row: Found | undefined, permission: OrganizationPermission) {
  const organization = row && readable(ctx, row)
  if (!organization) throw notFound('organization')
  checkDemands(organization.facts)
  if (!organization.can.has(permission)) {
    throw refusal(permission, `in the organization ${organization.name}`)
  }
  return organization
}

function readable(ctx: Ctx, row: Found): Organization | undefined {
  const { facts: column, ...organization } = row
  const facts = readFacts(ctx.actor, { organizationId: row.id, facts: column })
  const can = organizationPermissions(facts)
  return can.has('organization:read') ? { ...organization, can, facts } : undefined
}

/** Those of the organizations whose content the actor may see, for includes. */
export async function listReadableOrganizations(ctx: Ctx, ids: readonly string[]): Promise<Organization[]> {
  return open(ctx, await store.findOrganizations(ctx.db, ctx.actor, ids))
}

/** As `listReadableOrganizations`, by the names that relations have for ids. */
export async function listReadableOrganizationsNamed(ctx: Ctx, names: readonly string[]): Promise<Organization[]> {
  return open(ctx, await store.findOrganizationsNamed(ctx.db, ctx.actor, names))
}

/** Those whose content is open to the actor. */
function open(ctx: Ctx, rows: readonly Found[]): Organization[] {
  return rows.flatMap((row) => {
    const organization = readable(ctx, row)
    return organization && !organization.facts.demands ? organization : []
  })
}

export async function listOrganizations(
  ctx: Ctx,
  { page, ...filter }: store.OrganizationFilter & { page: Page },
): Promise<Paged<Organization>> {
  const { rows, total } = await store.listOrganizations(ctx.db, ctx.actor, filter, {
    limit: page.size,
    offset: pageOffset(page),
  })
  return { rows: rows.flatMap((row) => readable(ctx, row) ?? []), total }
}

/** Throws `invalid` at `pointer` unless the agent pool belongs to the organization. */
export async function requireOrganizationPool(ctx: Ctx, organizationId: string, poolId: string, pointer?: string) {
  const pool = await store.findAgentPool(ctx.db, organizationId, poolId)
  if (!pool) throw invalid(`there is no agent pool ${poolId} in the organization`, pointer)
}

/** As `requireOrganizationPool`, for a workspace that is to use the pool: throws `invalid` too when its scope leaves that out. */
export async function requirePoolFor(
  ctx: Ctx,
  workspace: { organizationId: string; workspaceId?: string; projectId: string },
  { poolId, pointer }: { poolId: string; pointer?: string },
) {
  await requireOrganizationPool(ctx, workspace.organizationId, poolId, pointer)
  if (!(await store.isPoolOpenTo(ctx.db, poolId, workspace)))
    throw invalid(`the agent pool ${poolId} is not for this workspace: its scope must allow it first`, pointer)
}
