import { createHash } from 'node:crypto'
import { documentOf } from '@groundstate/contract/responses'
import {
  type ResourceCountsResource,
  type WorkspaceResourceResource,
  resourceCountsSchema,
} from '@groundstate/contract/workspace-resources'
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

/** More names than this are for no one to choose from; those with the most instances are kept. */
const MAX_NAMES = 1000

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
    .slice(0, MAX_NAMES)
}

/** An instance under its address for clients; `engineAddress` is that of the engine. */
type PlacedInstance = ExtractedInstance & { engineAddress: string }
type CurrentInstances = { stateVersionId: string; since: Date; instances: PlacedInstance[] }

/** The instances in the current state of a workspace; undefined where there is no state that can be read. */
async function readInstances(ctx: Ctx, workspaceId: string): Promise<CurrentInstances | undefined> {
  const workspace = await requireStateWorkspace(ctx, workspaceId, 'state-versions:read')
  const id = workspace.current_state_version_id
  if (id === null) return undefined
  await extractVersion(ctx, id)
  const version = await findInstances(ctx.db, id)
  if (!version?.instances) return undefined
  const instances = JSON.parse(unpackList(version.instances).toString('utf8')) as ExtractedInstance[]
  return { stateVersionId: id, since: version.created_at, instances: instances.map(placed) }
}

/**
 * An instance in the words of clients of the public API: modules and addresses without the keyword `module`, such as
 * `net["a"].aws_subnet.b`. These can be ambiguous, so the engine's own address is kept.
 */
function placed(instance: ExtractedInstance): PlacedInstance {
  const engineAddress = instance.address
  if (instance.module === ROOT) return { ...instance, engineAddress }
  const module = instance.module.replaceAll(MODULE_STEP, '$1')
  return { ...instance, engineAddress, module, address: `${module}${engineAddress.slice(instance.module.length)}` }
}

const ROOT = 'root'
/** `module.net` or `module.net["a"]`. A key may have any characters. */
const MODULE_STEP = /module\.([^.[]+(?:\[(?:\d+|"(?:[^"\\]|\\.)*")\])?)/g

/** One instance of a resource in a workspace's current state, and the version that it is from. */
export type ListedResource = ExtractedInstance & { id: string; stateVersionId: string; since: Date }

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

export type CountedName = { name: string; count: number }

/** How many instances the current state of a workspace has, by module and by type. */
export type ResourceCounts = { workspaceId: string; total: number; modules: CountedName[]; types: CountedName[] }

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

export const count = {
  summary: 'Count the resources of a workspace by module and by type',
  access: { workspace: 'state-versions:read' },
  responses: { 200: documentOf(resourceCountsSchema) },
} as const
