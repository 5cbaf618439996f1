import type { Ctx } from '../../../app.ts'
import { readAccessContext } from '../../../auth/access-context.ts'
import { organizationPermissions } from '../../../auth/organization-permissions.ts'
import { type OrganizationPermission, refusal } from '../../../auth/permissions.ts'
import { checkSignInPolicy } from '../../../auth/sign-in-policy.ts'
import { notFound } from '../../../errors.ts'
import { listReadableOrganizations } from '../../organizations/organizations/access.ts'
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
  const token = await store.findOAuthToken(ctx.db, id)
  if (!token) throw notFound('OAuth token')
  const [organization] = await listReadableOrganizations(ctx, [token.organization_id])
  if (!organization?.can.has('vcs-settings:read')) throw notFound('OAuth token')
  if (!organization.can.has(permission)) throw refusal(permission, `in the organization ${organization.name}`)
  return token
}

/** The tokens that the actor may see, for includes. */
export async function listReadableTokens(ctx: Ctx, ids: readonly string[]) {
  if (ids.length === 0) return []
  const tokens = await store.findOAuthTokens(ctx.db, ids)
  const organizations = await listReadableOrganizations(ctx, [...new Set(tokens.map((token) => token.organization_id))])
  const readable = new Set(organizations.flatMap(({ id, can }) => (can.has('vcs-settings:read') ? id : [])))
  return tokens.filter((token) => readable.has(token.organization_id))
}
