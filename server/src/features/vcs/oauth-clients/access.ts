import type { Ctx } from '../../../app.ts'
import { readAccessContext } from '../../../auth/access-context.ts'
import { organizationPermissions } from '../../../auth/organization-permissions.ts'
import { type OrganizationPermission, refusal } from '../../../auth/permissions.ts'
import { checkSignInPolicy } from '../../../auth/sign-in-policy.ts'
import { notFound } from '../../../errors.ts'
import { listReadableOrganizations, requirePart } from '../../organizations/organizations/access.ts'
import * as store from './store.ts'

export type OAuthClient = store.OAuthClientRow

/** Throws `not-found` for a connection that the actor may not see, `forbidden` without the permission. */
export async function requireOAuthClient(
  ctx: Ctx,
  id: string,
  permission: OrganizationPermission,
): Promise<OAuthClient> {
  const row = await store.findOAuthClient(ctx.db, ctx.actor, id)
  if (!row) throw notFound('OAuth client')
  const { access: column, ...client } = row
  const access = readAccessContext(ctx.actor, { organizationId: row.organization_id, access: column })
  const can = organizationPermissions(access)
  if (can.has('organization:read')) checkSignInPolicy(access)
  if (!can.has('vcs-settings:read')) throw notFound('OAuth client')
  if (!can.has(permission)) throw refusal(permission, `in the organization ${row.organization_name}`)
  return client
}

/** As `requireOAuthClient`, for a token. */
export async function requireOAuthToken(ctx: Ctx, id: string, permission: OrganizationPermission) {
  const access = { noun: 'OAuth token', read: 'vcs-settings:read', permission } as const
  return requirePart(ctx, await store.findOAuthToken(ctx.db, id), access)
}

/** The connections that the actor may see, for includes. */
export async function listReadableClients(ctx: Ctx, ids: readonly string[]) {
  return readable(ctx, ids.length === 0 ? [] : await store.findOAuthClients(ctx.db, ctx.actor, ids))
}

/** The tokens that the actor may see, for includes. */
export async function listReadableTokens(ctx: Ctx, ids: readonly string[]) {
  return readable(ctx, ids.length === 0 ? [] : await store.findOAuthTokens(ctx.db, ids))
}

async function readable<Row extends { organization_id: string }>(ctx: Ctx, rows: readonly Row[]) {
  if (rows.length === 0) return []
  const organizations = await listReadableOrganizations(ctx, [...new Set(rows.map((row) => row.organization_id))])
  const ids = new Set(organizations.flatMap(({ id, can }) => (can.has('vcs-settings:read') ? id : [])))
  return rows.filter((row) => ids.has(row.organization_id))
}
