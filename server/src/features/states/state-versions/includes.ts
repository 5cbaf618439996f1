import type { Loader } from '../../../http/loaders.ts'
import { listOutputsOf } from '../state-version-outputs/service.ts'
import { shownIn, stateVersionResources } from './presentation.ts'
import { listReadableStateVersions } from './service.ts'
import { stateVersionOutputResource } from '../state-version-outputs/resource.ts'

export const stateVersionLoaders: readonly Loader[] = [
  {
    type: 'state-versions',
    load: async (ctx, ids) => stateVersionResources(ctx, await listReadableStateVersions(ctx, ids), shownIn),
  },
  {
    // Sensitive outputs show their values: whoever sees a version may read the state itself.
    of: 'state-versions',
    relation: 'outputs',
    load: async (ctx, versions) => {
      // Of what is deleted softly the outputs are still there, but no more to be read than the rest of the content.
      const readable = versions.filter((version) => version.attributes?.['status'] === 'finalized')
      const ids = readable.map((version) => version.id)
      const outputs = Map.groupBy(await listOutputsOf(ctx, ids), (output) => output.stateVersionId)
      return new Map(ids.map((id) => [id, (outputs.get(id) ?? []).map((output) => stateVersionOutputResource(output))]))
    },
  },
]
