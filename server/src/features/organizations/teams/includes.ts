import type { Loader } from '../../../http/loaders.ts'
import { listReadableTeams } from './access.ts'
import { showTeams } from './show.ts'

export const teamLoaders: readonly Loader[] = [
  { type: 'teams', load: async (ctx, ids) => showTeams(ctx, await listReadableTeams(ctx, ids)) },
]
