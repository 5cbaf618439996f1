import type { Ctx } from '../../../app.ts'
import { checkDemands } from '../../../auth/demands.ts'
import { readFacts } from '../../../auth/facts.ts'
import { organizationPermissions } from '../../../auth/organization-permissions.ts'
import { type OrganizationPermission, refusal } from '../../../auth/permissions.ts'
import { notFound } from '../../../errors.ts'
import type { Organization, FoundOrganization } from './organization.ts'
import * as store from './store.ts'

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

function authorised(ctx: Ctx, row: FoundOrganization | undefined, permission: OrganizationPermission) {
  const organization = row && readableOrganization(ctx, row)
  if (!organization) throw notFound('organization')
  checkDemands(organization.facts)
  if (!organization.can.has(permission)) {
    throw refusal(permission, `in the organization ${organization.name}`)
  }
  return organization
}

export function readableOrganization(ctx: Ctx, row: FoundOrganization): Organization | undefined {
  const { facts: column, ...organization } = row
  const facts = readFacts(ctx.actor, { organizationId: row.id, facts: column })
  const can = organizationPermissions(facts)
  return can.has('organization:read') ? { ...organization, can, facts } : undefined
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
    return organization && !organization.facts.demands ? organization : []
  })
}
