import type { Loader } from '../../../http/loaders.ts'
import { listReadableWorkspaceTasks } from './access.ts'
import { workspaceTaskResource } from './resource.ts'

export const workspaceTaskLoaders: readonly Loader[] = [
  {
    type: 'workspace-tasks',
    load: async (ctx, ids) => (await listReadableWorkspaceTasks(ctx, ids)).map(workspaceTaskResource),
  },
]
