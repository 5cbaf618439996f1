import type { Loader } from '../../../http/loaders.ts'
import { listReadableTaskResults } from './access.ts'
import { taskResultResource } from './resource.ts'

export const taskResultLoaders: readonly Loader[] = [
  {
    type: 'task-results',
    load: async (ctx, ids) => (await listReadableTaskResults(ctx, ids)).map(taskResultResource),
  },
]
