import type { Ctx } from '../../app.ts'
import { BLOB_PREFIX, md5Of, readContent } from './content.ts'
import * as upkeepStore from './upkeep-store.ts'

/** An upload may be stored for as long as its URL lives before a row names it. */
const ORPHAN_AGE_MS = 48 * 3_600_000
const BATCH = 500
/** How many versions are read back each day. */
const SAMPLE = 200

/** Deletes blobs that no version names: what failed or dead processes left behind. Returns how many. */
export async function sweepOrphans(ctx: Ctx, signal: AbortSignal) {
  const before = new Date(ctx.now().getTime() - ORPHAN_AGE_MS)
  let swept = 0
  let batch: string[] = []
  const flush = async () => {
    const named = await upkeepStore.findNamedLocations(ctx.db, batch.map(versionOf))
    for (const key of batch.filter((key) => !named.has(key))) {
      await ctx.blobs.delete(key)
      swept += 1
    }
    batch = []
  }
  for await (const { key, modifiedAt } of ctx.blobs.list(BLOB_PREFIX)) {
    if (signal.aborted) return swept
    if (modifiedAt >= before) continue
    batch.push(key)
    if (batch.length === BATCH) await flush()
  }
  await flush()
  await upkeepStore.deleteDiscardedContents(ctx.db)
  if (swept > 0) ctx.log.info({ swept }, 'deleted state content that no state version names')
  return swept
}

function versionOf(key: string) {
  return key.slice(BLOB_PREFIX.length).split('/', 1)[0] ?? ''
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
