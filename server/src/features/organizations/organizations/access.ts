import type { Ctx } from '../../../app.ts'
import { type AccessContext, isTokenRefused, readAccessContext } from '../../../auth/access-context.ts'
import { checkDemands } from '../../../auth/demands.ts'
import { organizationPermissions } from '../../../auth/organization-permissions.ts'
import { type OrganizationPermission, refusal } from '../../../auth/permissions.ts'
import { notFound, unauthorized } from '../../../errors.ts'
import type { FoundOrganization, Organization } from './organization.ts'
import * as store from './store.ts'

/**
 * Loads the organization of that name and checks `permission` in one query. Throws `not-found` when the actor may not
 * see it, or what the permission is to read, `forbidden` when it lacks a permission to do something, `unauthorized` when
 * the organization does not take the token of a member.
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

const REFUSED =
  'the organization takes no API tokens of its members: use the token of a team or of the organization, or sign in on the web'

/**
 * The organization after a change by an actor with `facts` there. Whoever switches the tokens of members off, with a
 * token of their own, still gets the response.
 */
export async function showChangedOrganization(ctx: Ctx, id: string, access: AccessContext): Promise<Organization> {
  const row = await store.findOrganization(ctx.db, ctx.actor, { id })
  if (row && isTokenRefused(ctx.actor, row.access)) return { ...row, access, can: organizationPermissions(access) }
  return authorised(ctx, row, 'organization:read')
}

function authorised(ctx: Ctx, row: FoundOrganization | undefined, permission: OrganizationPermission) {
  const organization = row && readableOrganization(ctx, row)
  if (row && isTokenRefused(ctx.actor, row.access)) throw unauthorized(REFUSED)
  if (!organization) throw notFound('organization')
  checkDemands(organization.access)
  if (!organization.can.has(permission)) {
    throw refusal(permission, `in the organization ${organization.name}`)
  }
  return organization
}

export function readableOrganization(ctx: Ctx, row: FoundOrganization): Organization | undefined {
  const { access: column, ...organization } = row
  const access = readAccessContext(ctx.actor, { organizationId: row.id, access: column })
  const can = organizationPermissions(access)
  return can.has('organization:read') ? { ...organization, can, access } : undefined
}

/** The organizations whose content the actor may see, for includes. */
export async function listReadableOrganizations(ctx: Ctx, ids: readonly string[]): Promise<Organization[]> {
  return listOpen(ctx, await store.findOrganizations(ctx.db, ctx.actor, ids))
}

/** As `listReadableOrganizations`, by the names that relations have for ids. */
export async function listReadableOrganizationsNamed(ctx: Ctx, names: readonly string[]): Promise<Organization[]> {
  return listOpen(ctx, await store.findOrganizationsNamed(ctx.db, ctx.actor, names))
}

/** Leaves out organizations that demand another sign-in of the actor. */
function listOpen(ctx: Ctx, rows: readonly FoundOrganization[]): Organization[] {
  return rows.flatMap((row) => {
    const organization = readableOrganization(ctx, row)
    return organization && !organization.access.demands ? organization : []
  })
}
