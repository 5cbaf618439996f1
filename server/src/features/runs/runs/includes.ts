import type { Loader } from '../../../http/loaders.ts'
import { runResource } from './resource.ts'
import { listReadableRuns } from './service.ts'

export const runLoaders: readonly Loader[] = [
  { type: 'runs', load: async (ctx, ids) => (await listReadableRuns(ctx, ids)).map((run) => runResource(ctx, run)) },
]
