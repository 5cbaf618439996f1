import { createHash } from 'node:crypto'
import type { ResourceCountsResource, WorkspaceResourceResource } from '@groundstate/contract/workspace-resources'
import type { Ctx } from '../../../app.ts'
import { type Page, type Paged, pageOffset } from '../../../db/db.ts'
import type { ExtractedInstance } from '../../../terraform-state/extraction.ts'
import { unpackList } from '../../../terraform-state/packed-extraction.ts'
import { requireStateWorkspace } from '../state-versions/access.ts'
import { findInstances } from '../state-versions/extraction-store.ts'
import { extractVersion } from '../state-versions/extraction.ts'

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

type ResourceFilter = {
  q: string | undefined
  module: string | undefined
  type: string | undefined
  sort: { name: ResourceSort; descending: boolean }
}

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
  const q = filter.q?.toLowerCase() ?? ''
  const matching = current.instances.filter(
    ({ address, module, type }) =>
      address.toLowerCase().includes(q) &&
      (filter.module === undefined || module === filter.module) &&
      (filter.type === undefined || type === filter.type),
  )
  matching.sort((a, b) => direction * compare(sortKey(a), sortKey(b)) || compare(a.address, b.address))
  const rows = matching.slice(pageOffset(page), pageOffset(page) + page.size).map((instance) => {
    const id = resourceId(workspaceId, instance.engineAddress)
    return { ...instance, id, stateVersionId, since }
  })
  return { rows, total: matching.length }
}

/** An id that stays the same while the instance keeps its address. */
function resourceId(workspaceId: string, address: string) {
  return `wsr-${createHash('sha256').update(`${workspaceId}/${address}`).digest('hex').slice(0, 16)}`
}

function compare(a: string, b: string) {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Maximum number of names in the counts; those with the most instances are kept. */
const MAX_NAMES = 1000

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
    .slice(0, MAX_NAMES)
}

/** The instances in the current state of a workspace; undefined if there is no readable state. */
async function readInstances(ctx: Ctx, workspaceId: string) {
  const workspace = await requireStateWorkspace(ctx, workspaceId, 'state-versions:read')
  const id = workspace.current_state_version_id
  if (id === null) return undefined
  await extractVersion(ctx, id)
  const version = await findInstances(ctx.db, id)
  if (!version?.instances) return undefined
  const instances = JSON.parse(unpackList(version.instances).toString('utf8')) as ExtractedInstance[]
  return { stateVersionId: id, since: version.created_at, instances: instances.map(withPublicAddress) }
}

/** Converts addresses to those of the public API, such as `net["a"].aws_subnet.b`. They can be ambiguous, so `engineAddress` has the original. */
function withPublicAddress(instance: ExtractedInstance) {
  const engineAddress = instance.address
  if (instance.module === ROOT) return { ...instance, engineAddress }
  const module = instance.module.replaceAll(MODULE_STEP, '$1')
  return { ...instance, engineAddress, module, address: `${module}${engineAddress.slice(instance.module.length)}` }
}

const ROOT = 'root'
/** `module.net` or `module.net["a"]`. A key may contain any characters. */
const MODULE_STEP = /module\.([^.[]+(?:\[(?:\d+|"(?:[^"\\]|\\.)*")\])?)/g

type ListedResource = ExtractedInstance & { id: string; stateVersionId: string; since: Date }

export function workspaceResourceResource(instance: ListedResource): WorkspaceResourceResource {
  const since = instance.since.toISOString()
  return {
    id: instance.id,
    type: 'resources',
    attributes: {
      address: instance.address,
      name: instance.name,
      'created-at': since,
      'updated-at': since,
      module: instance.module,
      provider: instance.provider,
      'provider-type': instance.type,
      'modified-by-state-version-id': instance.stateVersionId,
      'name-index': instance.nameIndex,
      tainted: instance.tainted ?? null,
    },
  }
}

type CountedName = { name: string; count: number }

type ResourceCounts = { workspaceId: string; total: number; modules: CountedName[]; types: CountedName[] }

export function resourceCountsResource(counts: ResourceCounts): ResourceCountsResource {
  const { workspaceId, ...attributes } = counts
  return {
    id: workspaceId,
    type: 'resource-counts',
    attributes,
    relationships: { workspace: { data: { id: workspaceId, type: 'workspaces' } } },
    links: { self: `/api/v2/workspaces/${workspaceId}/resource-counts` },
  }
}
