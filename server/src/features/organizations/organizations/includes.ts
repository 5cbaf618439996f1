import type { Loader } from '../../../http/loaders.ts'
import { organizationResource } from './resource.ts'
import { listReadableOrganizationsNamed } from './service.ts'

export const organizationLoaders: readonly Loader[] = [
  {
    type: 'organizations',
    load: async (ctx, names) => (await listReadableOrganizationsNamed(ctx, names)).map(organizationResource),
  },
]
