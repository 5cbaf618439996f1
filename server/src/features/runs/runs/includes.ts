import type { Loader } from '../../../http/loaders.ts'
import { listReadableRuns, listRunsOfConfigurations } from './access.ts'
import { runResource } from './resource.ts'

export const runLoaders: readonly Loader[] = [
  { type: 'runs', load: async (ctx, ids) => (await listReadableRuns(ctx, ids)).map((run) => runResource(ctx, run)) },
  {
    of: 'configuration-versions',
    relation: 'run',
    load: async (ctx, versions) => {
      const ids = versions.map(({ id }) => id)
      const runs = await listRunsOfConfigurations(ctx, ids)
      return new Map(runs.map((run) => [run.configuration_version_id, runResource(ctx, run)]))
    },
  },
]
