import type { Loader } from '../../../http/loaders.ts'
import { organizationResource } from './resource.ts'
import { listReadableOrganizationsNamed } from './access.ts'

export const organizationLoaders: readonly Loader[] = [
  {
    type: 'organizations',
    load: async (ctx, names) => (await listReadableOrganizationsNamed(ctx, names)).map(organizationResource),
  },
]
