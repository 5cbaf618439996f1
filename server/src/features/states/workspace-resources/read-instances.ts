import type { Ctx } from '../../../app.ts'
import type { ExtractedInstance } from '../../../terraform-state/extraction.ts'
import { unpackList } from '../../../terraform-state/packed-list.ts'
import { requireStateWorkspace } from '../state-versions/access.ts'
import { extractVersion } from '../state-versions/extract.ts'
import { findInstances } from '../state-versions/extraction-store.ts'

/** An instance under its address for clients; `engineAddress` is that of the engine. */
export type PlacedInstance = ExtractedInstance & { engineAddress: string }
export type CurrentInstances = { stateVersionId: string; since: Date; instances: PlacedInstance[] }

/** The instances in the current state of a workspace; undefined where there is no state that can be read. */
export async function readInstances(ctx: Ctx, workspaceId: string): Promise<CurrentInstances | undefined> {
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
