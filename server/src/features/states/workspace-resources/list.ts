import { createHash } from 'node:crypto'
import type { Ctx } from '../../../app.ts'
import { type Page, type Paged, pageOffset } from '../../../db/page.ts'
import type { ExtractedInstance } from '../../../terraform-state/extraction.ts'
import { readInstances } from './read-instances.ts'
import type { ListedResource } from './resource.ts'

const SORTS = {
  name: (instance) => instance.name,
  nameIndex: (instance) => instance.nameIndex ?? '',
  provider: (instance) => instance.provider,
  providerType: (instance) => instance.type,
  module: (instance) => instance.module,
  updatedAt: () => '',
} as const satisfies Record<string, (instance: ExtractedInstance) => string>

export type ResourceSort = keyof typeof SORTS
export const RESOURCE_SORTS = Object.keys(SORTS) as ResourceSort[]

export type ResourceFilter = {
  q: string | undefined
  module: string | undefined
  type: string | undefined
  sort: { name: ResourceSort; descending: boolean }
}

/** The instances in the current state. */
export async function listWorkspaceResources(
  ctx: Ctx,
  workspaceId: string,
  { filter, page }: { filter: ResourceFilter; page: Page },
): Promise<Paged<ListedResource>> {
  const sortKey = SORTS[filter.sort.name]
  const direction = filter.sort.descending ? -1 : 1
  const current = await readInstances(ctx, workspaceId)
  if (!current) return { rows: [], total: 0 }
  const { stateVersionId, since } = current
  const wanted = filter.q?.toLowerCase() ?? ''
  const matching = current.instances.filter(
    ({ address, module, type }) =>
      address.toLowerCase().includes(wanted) &&
      (filter.module === undefined || module === filter.module) &&
      (filter.type === undefined || type === filter.type),
  )
  matching.sort((a, b) => direction * compare(sortKey(a), sortKey(b)) || compare(a.address, b.address))
  const rows = matching.slice(pageOffset(page), pageOffset(page) + page.size)
  return {
    rows: rows.map((instance) => ({
      ...instance,
      id: resourceId(workspaceId, instance.engineAddress),
      stateVersionId,
      since,
    })),
    total: matching.length,
  }
}

/** An id that stays the same while the instance keeps its address. */
function resourceId(workspaceId: string, address: string) {
  return `wsr-${createHash('sha256').update(`${workspaceId}/${address}`).digest('hex').slice(0, 16)}`
}

function compare(a: string, b: string) {
  return a < b ? -1 : a > b ? 1 : 0
}
