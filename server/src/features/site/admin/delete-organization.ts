import type { Ctx } from '../../../app.ts'
import { destroyOrganization } from '../../organizations/organizations/delete.ts'
import { requireSiteOrganization } from './access.ts'

/** Deletes an organization and everything in it. */
export async function deleteSiteOrganization(ctx: Ctx, name: string) {
  const organization = await requireSiteOrganization(ctx, name)
  await destroyOrganization(ctx, organization)
}
