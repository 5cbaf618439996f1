import type { Ctx } from '../../../app.ts'
import type { Loader } from '../../../http/loaders.ts'
import { RawJson } from '../../../http/raw-json.ts'
import { listReadableStateVersions } from './access.ts'
import { resourceLists } from './extraction.ts'
import { type DisplayContext, type DisplayOptions, displayOptions, stateVersionResource } from './resource.ts'
import type { PresentedRow } from './store.ts'

export const stateVersionLoaders: readonly Loader[] = [
  {
    type: 'state-versions',
    load: async (ctx, ids) => stateVersionResources(ctx, await listReadableStateVersions(ctx, ids), displayOptions),
  },
]

/** Converts versions to resources; loads the resource lists of all of them in one query. */
export async function stateVersionResources<Version extends PresentedRow>(
  ctx: Ctx,
  versions: readonly Version[],
  optionsOf: (version: Version) => DisplayOptions,
) {
  const options = new Map(versions.map((version) => [version.id, optionsOf(version)]))
  const listed = versions.filter(({ id }) => !options.get(id)?.withoutResources)
  const lists = await resourceLists(ctx, listed)
  // A version that was deleted after its row was read has no list.
  return versions.map((version) =>
    stateVersionResource(ctx, version, lists.get(version.id) ?? NO_LIST, options.get(version.id)),
  )
}

export async function presentStateVersion(
  ctx: Ctx,
  version: PresentedRow & DisplayContext,
  extra: Pick<DisplayOptions, 'deleteOlderThanDays' | 'withoutResources'> = {},
) {
  const options = { ...displayOptions(version), ...extra }
  const [resource] = await stateVersionResources(ctx, [version], () => options)
  if (resource === undefined) throw new Error('one version was presented as none')
  return resource
}

const NO_LIST = new RawJson(Buffer.from('[]'))
