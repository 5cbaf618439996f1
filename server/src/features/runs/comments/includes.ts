import type { Loader } from '../../../http/loaders.ts'
import { listReadableComments } from './access.ts'
import { commentResource } from './resource.ts'

export const commentLoaders: readonly Loader[] = [
  { type: 'comments', load: async (ctx, ids) => (await listReadableComments(ctx, ids)).map(commentResource) },
]
