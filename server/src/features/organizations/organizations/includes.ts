import type { Resource } from '@groundstate/contract/json-api'
import type { OrganizationResource } from '@groundstate/contract/organizations'
import type { Loader } from '../../../http/loaders.ts'
import { listReadableOrganizationsNamed } from './access.ts'
import { entitlementSetResource, organizationResource } from './resource.ts'

export const organizationLoaders: readonly Loader[] = [
  {
    type: 'organizations',
    load: async (ctx, names) => (await listReadableOrganizationsNamed(ctx, names)).map(organizationResource),
  },
  {
    of: 'organizations',
    relation: 'entitlement-set',
    // An entitlement set follows from the plan, which the organization shows: it takes no query.
    load: async (_, organizations) => new Map(organizations.map((resource) => [resource.id, entitlementSet(resource)])),
  },
]

function entitlementSet({ id: name, attributes }: Resource) {
  const { 'external-id': id, 'plan-identifier': plan } = attributes as OrganizationResource['attributes']
  return entitlementSetResource({ id, name, plan })
}
