import type { Ctx } from '../../../app.ts'
import { type OrganizationPermission, refusal } from '../../../auth/permissions.ts'
import { notFound } from '../../../errors.ts'
import { listReadableOrganizations } from '../../organizations/organizations/access.ts'
import * as store from './store.ts'

/** Throws `not-found` for an installation that the actor may not see, `forbidden` without the permission. */
export async function requireInstallation(ctx: Ctx, id: string, permission: OrganizationPermission) {
  const installation = await store.findInstallation(ctx.db, id)
  const [organization] = installation ? await listReadableOrganizations(ctx, [installation.organization_id]) : []
  if (!installation || !organization?.can.has('vcs-settings:read')) throw notFound('GitHub App installation')
  if (!organization.can.has(permission)) throw refusal(permission, `in the organization ${organization.name}`)
  return installation
}
