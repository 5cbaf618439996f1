import type { Ctx } from '../../../app.ts'
import type { Page, Paged } from '../../../db/page.ts'
import { notFound, unavailable } from '../../../errors.ts'
import { requireStateVersion, requireStateWorkspace } from '../state-versions/access.ts'
import { extractVersion } from '../state-versions/extract.ts'
import { openOutput, type Output } from './sealed-output.ts'
import { countOutputs, listOutputs } from './store.ts'

export async function listStateVersionOutputs(ctx: Ctx, stateVersionId: string, page: Page): Promise<Paged<Output>> {
  const version = await requireStateVersion(ctx, stateVersionId, 'state-outputs:read')
  // Outputs are part of the content: they can't be read when it can't (INTERFACE §4.8.3).
  if (version.status === 'pending' || version.status === 'discarded') return { rows: [], total: 0 }
  if (version.status !== 'finalized') throw notFound('content of this state version')
  await checkExtracted(ctx, version)
  const rows = await listOutputs(ctx.db, version.id, page)
  const isWhole = page.number === 1 && rows.length < page.size
  const total = isWhole ? rows.length : await countOutputs(ctx.db, version.id)
  return { rows: rows.map((row) => openOutput(ctx, row)), total }
}

/** All outputs of the current state, on one page, since clients read no second one. Empty when there is no state. */
export async function listCurrentOutputs(ctx: Ctx, workspaceId: string): Promise<Output[]> {
  const workspace = await requireStateWorkspace(ctx, workspaceId, 'state-outputs:read')
  if (workspace.current_state_version_id === null) return []
  const rows = await listOutputs(ctx.db, workspace.current_state_version_id)
  if (rows.length > 0) return rows.map((row) => openOutput(ctx, row))
  // A version that was not extracted yet has none either.
  await checkExtracted(ctx, await requireStateVersion(ctx, workspace.current_state_version_id, 'state-outputs:read'))
  return (await listOutputs(ctx.db, workspace.current_state_version_id)).map((row) => openOutput(ctx, row))
}

/** Clients read outputs right after an apply, perhaps before the job has extracted them: they are extracted here then. */
async function checkExtracted(ctx: Ctx, version: { id: string; status: string; resources_processed: boolean }) {
  if (version.status !== 'finalized' || version.resources_processed) return
  try {
    await extractVersion(ctx, version.id)
  } catch (error) {
    ctx.log.error({ err: error, version: version.id }, 'extraction on demand failed')
    throw unavailable(`service unavailable: the outputs of ${version.id} are being processed`, 1000)
  }
}
