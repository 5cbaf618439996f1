import type { Loader } from '../../../http/loaders.ts'
import { listReadableTaskStages } from './access.ts'
import { taskStageResource } from './resource.ts'

export const taskStageLoaders: readonly Loader[] = [
  { type: 'task-stages', load: async (ctx, ids) => (await listReadableTaskStages(ctx, ids)).map(taskStageResource) },
]
