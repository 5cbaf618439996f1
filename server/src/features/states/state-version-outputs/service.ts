import type { Ctx } from '../../../app.ts'
import { checkDemands } from '../../../auth/demands.ts'
import { readAccess } from '../../../auth/workspace-access.ts'
import { notFound, unavailable } from '../../../errors.ts'
import { requireStateVersion } from '../state-versions/service.ts'
import * as store from './store.ts'
import { extractVersion } from '../state-versions/extract.ts'
import { outputContext } from '../state-versions/extraction-columns.ts'
import { requireStateWorkspace } from '../state-versions/create.ts'
import type { Page, Paged } from '../../../db/page.ts'

export type Output = {
  id: string
  stateVersionId: string
  name: string
  sensitive: boolean
  /** In terms of JSON, such as `array`. */
  type: string
  /** As the engine has it, such as `["list","string"]`. */
  detailedType: unknown
  value: unknown
}

/** One output with its value, also when that is sensitive. */
export async function showStateVersionOutput(ctx: Ctx, id: string): Promise<Output> {
  const row = await store.findOutput(ctx.db, ctx.actor, id)
  if (!row || row.status !== 'finalized') throw notFound('state version output')
  const { facts, can } = readAccess(ctx.actor, row)
  if (can.size > 0) checkDemands(facts)
  if (!can.has('state-outputs:read')) throw notFound('state version output')
  return opened(ctx, row)
}

export async function listStateVersionOutputs(ctx: Ctx, stateVersionId: string, page: Page): Promise<Paged<Output>> {
  const version = await requireStateVersion(ctx, stateVersionId, 'state-outputs:read')
  // Outputs are content: they can't be read while it can't (INTERFACE §4.8.3).
  if (version.status === 'pending' || version.status === 'discarded') return { rows: [], total: 0 }
  if (version.status !== 'finalized') throw notFound('content of this state version')
  await checkExtracted(ctx, version)
  const rows = await store.listOutputs(ctx.db, version.id, page)
  const isWhole = page.number === 1 && rows.length < page.size
  const total = isWhole ? rows.length : await store.countOutputs(ctx.db, version.id)
  return { rows: rows.map((row) => opened(ctx, row)), total }
}

/** All outputs of the current state, on one page since clients read no second one; none while there is no state. */
export async function listCurrentOutputs(ctx: Ctx, workspaceId: string): Promise<Output[]> {
  const workspace = await requireStateWorkspace(ctx, workspaceId, 'state-outputs:read')
  if (workspace.current_state_version_id === null) return []
  const rows = await store.listOutputs(ctx.db, workspace.current_state_version_id)
  if (rows.length > 0) return rows.map((row) => opened(ctx, row))
  // None is also what a version shows that was not extracted yet.
  await checkExtracted(ctx, await requireStateVersion(ctx, workspace.current_state_version_id, 'state-outputs:read'))
  return (await store.listOutputs(ctx.db, workspace.current_state_version_id)).map((row) => opened(ctx, row))
}

/** The outputs of several versions that the caller has been authorised to read, for their `include`. */
export async function listOutputsOf(ctx: Ctx, stateVersionIds: readonly string[]): Promise<Output[]> {
  return (await store.listOutputsOf(ctx.db, stateVersionIds)).map((row) => opened(ctx, row))
}

/** The outputs of the current states of workspaces, by workspace. The caller has authorised them. */
export async function listCurrentOutputsOf(ctx: Ctx, workspaceIds: readonly string[]): Promise<Map<string, Output[]>> {
  const rows = await store.listCurrentOutputsOf(ctx.db, workspaceIds)
  const byWorkspace = Map.groupBy(rows, (row) => row.workspace_id)
  return new Map([...byWorkspace].map(([id, rows]) => [id, rows.map((row) => opened(ctx, row))]))
}

/** Outputs are read right after an apply: what the job has not extracted yet is extracted here. */
async function checkExtracted(ctx: Ctx, version: { id: string; status: string; resources_processed: boolean }) {
  if (version.status !== 'finalized' || version.resources_processed) return
  try {
    await extractVersion(ctx, version.id)
  } catch (error) {
    ctx.log.error({ err: error, version: version.id }, 'extraction on demand failed')
    throw unavailable(`service unavailable: the outputs of ${version.id} are being processed`, 1000)
  }
}

function opened(ctx: Ctx, row: store.OutputRow): Output {
  return {
    id: row.id,
    stateVersionId: row.state_version_id,
    name: row.name,
    sensitive: row.sensitive,
    type: row.type,
    detailedType: row.detailed_type,
    value: JSON.parse(ctx.secrets.openText(row.value, outputContext(row.id))),
  }
}
