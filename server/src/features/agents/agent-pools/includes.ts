import type { Loader } from '../../../http/loaders.ts'
import { agentPoolResource } from './resource.ts'
import { listReadableAgentPools } from './service.ts'

export const agentPoolLoaders: readonly Loader[] = [
  { type: 'agent-pools', load: async (ctx, ids) => (await listReadableAgentPools(ctx, ids)).map(agentPoolResource) },
]
