import type { Loader } from '../../../http/loaders.ts'
import { listReadableConfigurationVersions } from './access.ts'
import { configurationVersionResource } from './resource.ts'

export const configurationVersionLoaders: readonly Loader[] = [
  {
    type: 'configuration-versions',
    load: async (ctx, ids) =>
      (await listReadableConfigurationVersions(ctx, ids)).map((version) => configurationVersionResource(version)),
  },
]
