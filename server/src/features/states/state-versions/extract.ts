import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { isRefusedValue, transact } from '../../../db/db.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { readContent } from './content.ts'
import { extracted, type ExtractedState, unprocessed } from './extraction-columns.ts'
import * as store from './store.ts'
import { saveExtraction } from './new-version-store.ts'

/** Extracts outputs and resources from the content of a finalized version. */
export const EXTRACT = jobKind('state-versions.extract', z.object({ id: z.string() }), { concurrency: 2 })

/**
 * Extracts what a version shows of its content, off the event loop. Does nothing for a version that is gone or was
 * extracted before; a content that can't be read is extracted to nothing.
 */
export async function extractVersion(ctx: Ctx, id: string) {
  const version = await store.findVersion(ctx.db, id)
  if (!version || version.status !== 'finalized' || version.resources_processed) return
  const raw = await readContent(ctx, version, 'raw')
  const outcome = raw && (await ctx.workers.extract(raw))
  const nothing = { ...unprocessed(undefined), processed: true }
  const save = async (found: ExtractedState) =>
    transact(ctx, async (ctx) => {
      // A release of the workspace, which makes the version current, takes over the count of its resources: not meanwhile.
      await store.lockWorkspaceOf(ctx.db, id)
      await saveExtraction(ctx.db, id, {
        ...found,
        format: found.format ?? version.format,
        engineVersion: found.engineVersion ?? version.engine_version,
      })
    })
  try {
    await save(outcome?.ok ? extracted(ctx, outcome.value) : nothing)
  } catch (error) {
    // To try again would change nothing: the version would never be processed.
    if (!isRefusedValue(error)) throw error
    ctx.log.warn({ version: id }, 'the database refused what was extracted from a state')
    await save(nothing)
  }
}

/**
 * How many resources a version manages, extracted now if it was not yet; undefined where that can't be known: the state is
 * encrypted, or of a format that nothing here reads.
 */
export async function countManaged(ctx: Ctx, id: string): Promise<number | undefined> {
  await extractVersion(ctx, id)
  const version = await store.findVersion(ctx.db, id)
  return version?.modules == null ? undefined : version.resource_count
}
