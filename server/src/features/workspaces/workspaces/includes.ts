import type { Loader } from '../../../http/loaders.ts'
import { listReadableWorkspaces } from './access.ts'
import { workspaceResource } from './resource.ts'

export const workspaceLoaders: readonly Loader[] = [
  {
    type: 'workspaces',
    load: async (ctx, ids) => (await listReadableWorkspaces(ctx, ids)).map((workspace) => workspaceResource(workspace)),
  },
]
