import type { Ctx } from '../../../app.ts'
import { forbidden, notFound } from '../../../errors.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import type { Organization } from '../../organizations/organizations/organization.ts'
import * as store from './store.ts'

/** What it takes to make a sample in the organization. */
const NEEDED = ['projects:create', 'workspaces:create', 'variable-sets:manage', 'run-tasks:manage'] as const

/** The organization, for who may make a sample in it. Throws `forbidden` with all that is missing. */
export async function requireSampleMaker(ctx: Ctx, organizationName: string): Promise<Organization> {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  const missing = NEEDED.filter((permission) => !organization.can.has(permission))
  if (missing.length > 0) {
    throw forbidden(
      `a sample needs ${missing.length === 1 ? 'the permission' : 'the permissions'} ${missing.join(', ')} in the organization ${organization.name}`,
    )
  }
  return organization
}

/** The sample of an organization that the actor sees. Throws `not-found` where there is none. */
export async function requireSample(ctx: Ctx, organizationName: string) {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  const sample = await store.findSample(ctx.db, organization.id)
  if (!sample) throw notFound('sample')
  return { organization, sample }
}
