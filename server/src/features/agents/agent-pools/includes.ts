import type { Loader } from '../../../http/loaders.ts'
import { listReadableAgentPools } from './access.ts'
import { agentPoolResource } from './resource.ts'

export const agentPoolLoaders: readonly Loader[] = [
  { type: 'agent-pools', load: async (ctx, ids) => (await listReadableAgentPools(ctx, ids)).map(agentPoolResource) },
]
