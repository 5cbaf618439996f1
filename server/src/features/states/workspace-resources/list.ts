import { createHash } from 'node:crypto'
import type { Ctx } from '../../../app.ts'
import { type Page, type Paged, pageOffset } from '../../../db/page.ts'
import { badRequest } from '../../../errors.ts'
import type { ExtractedInstance } from '../../../terraform-state/extraction.ts'
import { requireStateWorkspace } from '../state-versions/access.ts'
import { extractVersion } from '../state-versions/extract.ts'
import { findInstances } from '../state-versions/extraction-store.ts'
import { unpackInstances } from '../state-versions/packed-instances.ts'
import type { ListedResource } from './resource.ts'

const SORTS = {
  name: (instance) => instance.name,
  nameIndex: (instance) => instance.nameIndex ?? '',
  provider: (instance) => instance.provider,
  providerType: (instance) => instance.type,
  module: (instance) => instance.module,
  updatedAt: () => '',
} as const satisfies Record<string, (instance: ExtractedInstance) => string>

/** The instances in the current state, by name unless `sort` (such as `provider:desc`) says otherwise; `q` narrows. */
export async function listWorkspaceResources(
  ctx: Ctx,
  workspaceId: string,
  filter: { q: unknown; sort: unknown },
  page: Page,
): Promise<Paged<ListedResource>> {
  const sort = readSort(filter.sort)
  const workspace = await requireStateWorkspace(ctx, workspaceId, 'state-versions:read')
  const id = workspace.current_state_version_id
  if (id === null) return { rows: [], total: 0 }
  await extractVersion(ctx, id)
  const version = await findInstances(ctx.db, id)
  if (!version?.instances) return { rows: [], total: 0 }
  const all = unpackInstances(version.instances).map(placed)
  const wanted = typeof filter.q === 'string' ? filter.q.toLowerCase() : ''
  const matching = wanted === '' ? all : all.filter((instance) => instance.address.toLowerCase().includes(wanted))
  matching.sort((a, b) => sort.direction * compare(sort.by(a), sort.by(b)) || compare(a.address, b.address))
  const rows = matching.slice(pageOffset(page), pageOffset(page) + page.size)
  return {
    rows: rows.map((instance) => ({
      ...instance,
      id: resourceId(workspaceId, instance.engineAddress),
      stateVersionId: id,
      since: version.created_at,
    })),
    total: matching.length,
  }
}

/**
 * An instance in the words of clients of the public API: modules and addresses without the keyword `module`, such as
 * `net["a"].aws_subnet.b`. These can be ambiguous, so the engine's own address is kept.
 */
function placed(instance: ExtractedInstance) {
  const engineAddress = instance.address
  if (instance.module === ROOT) return { ...instance, engineAddress }
  const module = instance.module.replaceAll(MODULE_STEP, '$1')
  return { ...instance, engineAddress, module, address: `${module}${engineAddress.slice(instance.module.length)}` }
}

const ROOT = 'root'
/** `module.net` or `module.net["a"]`. A key may have any characters. */
const MODULE_STEP = /module\.([^.[]+(?:\[(?:\d+|"(?:[^"\\]|\\.)*")\])?)/g

/** An id that stays the same while the instance keeps its address. */
function resourceId(workspaceId: string, address: string) {
  return `wsr-${createHash('sha256').update(`${workspaceId}/${address}`).digest('hex').slice(0, 16)}`
}

function compare(a: string, b: string) {
  return a < b ? -1 : a > b ? 1 : 0
}

function readSort(value: unknown) {
  const [, name, direction] =
    /^(\w+)(?::(asc|desc))?$/.exec(typeof value === 'string' && value !== '' ? value : 'name') ?? []
  const by = name !== undefined && Object.hasOwn(SORTS, name) ? SORTS[name as keyof typeof SORTS] : undefined
  if (by) return { by, direction: direction === 'desc' ? -1 : 1 }
  throw badRequest(
    `sort is ${JSON.stringify(value)}, it must be one of ${Object.keys(SORTS).join(', ')} with :asc or :desc`,
    'sort',
  )
}
