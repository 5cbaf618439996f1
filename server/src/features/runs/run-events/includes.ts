import type { Loader } from '../../../http/loaders.ts'
import { runEventResource } from './resource.ts'
import { listEventsOfRuns } from './store.ts'

export const runEventLoaders: readonly Loader[] = [
  {
    // Whoever is shown a run may read its events.
    of: 'runs',
    relation: 'run-events',
    load: async (ctx, runs) => {
      const ids = runs.map(({ id }) => id)
      const events = Map.groupBy(await listEventsOfRuns(ctx.db, ids), (event) => event.run_id)
      return new Map(ids.map((id) => [id, (events.get(id) ?? []).map(runEventResource)]))
    },
  },
]
