import type { Ctx } from '../../../app.ts'
import { blobOwner, sweepBlobs } from '../../../blobs/sweep.ts'
import { BLOB_PREFIX, md5Of, readContent } from './content.ts'
import * as upkeepStore from './content-store.ts'

/** How many versions are read back each day. */
const SAMPLE = 200

/** Deletes blobs that no version names: what failed or dead processes left behind, and deleted workspaces. Returns how many. */
export async function sweepOrphans(ctx: Ctx, signal: AbortSignal) {
  const named = async (keys: readonly string[]) =>
    upkeepStore.findNamedLocations(
      ctx.db,
      keys.map((key) => blobOwner(key, BLOB_PREFIX)),
    )
  const swept = await sweepBlobs(ctx, BLOB_PREFIX, named, signal)
  await upkeepStore.deleteDiscardedContents(ctx.db)
  if (swept > 0) ctx.log.info({ swept }, 'deleted state content that no state version names')
  return swept
}

/**
 * Reads the content of some versions back, chosen by chance, and compares size and hash. What is damaged is reported in
 * the log, and in `content_checks` for whoever looks later.
 */
export async function verifySample(ctx: Ctx, signal: AbortSignal) {
  const damaged: { id: string; reason: string }[] = []
  const versions = await upkeepStore.sampleVersions(ctx.db, ctx.newId('sv'), SAMPLE)
  let checked = 0
  for (const version of versions) {
    if (signal.aborted) break
    try {
      const raw = await readContent(ctx, version, 'raw')
      if (raw === undefined) throw new Error('the content is gone')
      if (raw.length !== version.size) throw new Error(`it has ${raw.length} bytes, not ${version.size}`)
      if (md5Of(raw) !== version.md5) throw new Error(`its md5 is ${md5Of(raw)}, not ${version.md5}`)
      if (version.json_location !== null) await readContent(ctx, version, 'json')
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      // A version that was deleted since it was chosen is no damage.
      if (!(await upkeepStore.isFinalized(ctx.db, version.id))) continue
      damaged.push({ id: version.id, reason })
      ctx.log.error({ version: version.id, workspace: version.workspace_id, reason }, 'stored state is damaged')
    }
    checked += 1
  }
  await upkeepStore.insertCheck(ctx.db, { at: ctx.now(), checked, damaged })
  ctx.log.info({ checked, damaged: damaged.length }, 'checked stored state')
  return { checked, damaged }
}
