import type { Ctx } from '../../../app.ts'
import { readInstances } from './read-instances.ts'
import type { CountedName, ResourceCounts } from './resource.ts'

/** More names than this are for nobody to choose from; those with the most instances are kept. */
const MOST_NAMES = 1000

/** How many instances the current state has, by module and by type. */
export async function countWorkspaceResources(ctx: Ctx, workspaceId: string): Promise<ResourceCounts> {
  const instances = (await readInstances(ctx, workspaceId))?.instances ?? []
  return {
    workspaceId,
    total: instances.length,
    modules: counted(instances.map(({ module }) => module)),
    types: counted(instances.map(({ type }) => type)),
  }
}

function counted(names: readonly string[]): CountedName[] {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts]
    .map(([name, count]) => ({ name, count }))
    .toSorted((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1))
    .slice(0, MOST_NAMES)
}
