import type { Ctx } from '../../../app.ts'
import { forbidden, notFound } from '../../../errors.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import type { Organization } from '../../organizations/organizations/organization.ts'
import * as store from './store.ts'

/** What it takes to make and to remove a sample, beside what its single parts take. */
export const SAMPLE_PERMISSIONS = [
  'projects:create',
  'workspaces:create',
  'variable-sets:manage',
  'run-tasks:manage',
] as const

/** The organization, for who may make a sample in it. Throws `forbidden` with all that is missing. */
export async function requireSampleMaker(ctx: Ctx, organizationName: string): Promise<Organization> {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  checkSampleMaker(organization)
  return organization
}

/** Throws `forbidden` with all that is missing. */
export function checkSampleMaker({ name, can }: Organization) {
  const missing = SAMPLE_PERMISSIONS.filter((permission) => !can.has(permission))
  if (missing.length === 0) return
  const what = missing.length === 1 ? 'the permission' : 'the permissions'
  throw forbidden(`making and removing a sample needs ${what} ${missing.join(', ')} in the organization ${name}`)
}

/** The sample of an organization that the actor sees. Throws `not-found` where there is none. */
export async function requireSample(ctx: Ctx, organizationName: string) {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  const sample = await store.findSample(ctx.db, organization.id)
  if (!sample) throw notFound('sample')
  return { organization, sample }
}
