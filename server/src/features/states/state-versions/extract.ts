import type { Ctx } from '../../../app.ts'
import { isRefusedValue, transact } from '../../../db/db.ts'
import { announceVersions } from './announce.ts'
import { LARGE_BYTES, readBlob, readContent } from './content.ts'
import { type ExtractionColumns, extractionColumns, unprocessedColumns } from './extraction-columns.ts'
import { saveExtraction } from './extraction-store.ts'
import { inTurn } from './in-turn.ts'
import * as store from './store.ts'

/**
 * Extracts what a version shows of its content, off the event loop. Does nothing for a version that is gone or was extracted
 * before. Of content that can't be read, nothing is extracted, and the version counts as processed.
 */
export async function extractVersion(ctx: Ctx, id: string) {
  const version = await store.findVersion(ctx.db, id)
  if (!version || version.status !== 'finalized' || version.resources_processed) return
  const outcome = await extracted(ctx, version)
  const nothing = { ...unprocessedColumns(undefined), processed: true }
  const save = async (found: ExtractionColumns) =>
    transact(ctx, async (ctx) => {
      // An unlock, which makes the version current, copies the count of its resources: the lock keeps it out meanwhile.
      const workspace = await store.lockWorkspaceOf(ctx.db, id)
      if (!workspace) return
      const { id: workspaceId, organization_id: organizationId } = workspace
      announceVersions(ctx, [{ id, workspace_id: workspaceId, organization_id: organizationId }])
      await saveExtraction(ctx.db, id, {
        ...found,
        format: found.format ?? version.format,
        engineVersion: found.engineVersion ?? version.engine_version,
      })
    })
  try {
    await save(outcome?.ok ? extractionColumns(ctx, outcome.value) : nothing)
  } catch (error) {
    // Another attempt would fail too, and the version would never be processed.
    if (!isRefusedValue(error)) throw error
    ctx.log.warn({ version: id }, 'the database refused what was extracted from a state')
    await save(nothing)
  }
}

const extractInTurn = inTurn()

async function extracted(ctx: Ctx, version: store.PresentedRow) {
  const { raw_location: location, size } = version
  if (location !== null && size !== null && size > LARGE_BYTES)
    return extractInTurn(async () => ctx.workers.extract(await readBlob(ctx, { location, size })))
  const raw = await readContent(ctx, version, 'raw')
  return raw && ctx.workers.extract(raw)
}

/**
 * How many resources a version manages; extracts them if that was not done yet. Undefined where it can't be known: the state is
 * encrypted, or of a format that the server does not read.
 */
export async function countManaged(ctx: Ctx, id: string): Promise<number | undefined> {
  await extractVersion(ctx, id)
  const version = await store.findVersion(ctx.db, id)
  return version?.modules == null ? undefined : version.resource_count
}
