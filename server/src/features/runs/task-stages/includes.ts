import type { Loader } from '../../../http/loaders.ts'
import { taskStageResource } from './resource.ts'
import { listReadableTaskStages } from './service.ts'

export const taskStageLoaders: readonly Loader[] = [
  { type: 'task-stages', load: async (ctx, ids) => (await listReadableTaskStages(ctx, ids)).map(taskStageResource) },
]
