import type { Loader } from '../../../http/loaders.ts'
import { listReadablePhases } from './access.ts'
import { applyResource, planResource } from './resource.ts'

export const phaseLoaders: readonly Loader[] = [
  {
    type: ['plans', 'applies'],
    load: async (ctx, ids) =>
      (await listReadablePhases(ctx, ids)).map((phase) =>
        phase.kind === 'plan' ? planResource(ctx, phase) : applyResource(ctx, phase),
      ),
  },
]
