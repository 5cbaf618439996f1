import type { Ctx } from '../../../app.ts'
import * as contentStore from './content-store.ts'
import { md5Of, readContent } from './content.ts'

/** How many versions are read back each day. */
const SAMPLE = 200

/**
 * Reads the content of a random sample of versions back, and compares size and hash. Damage is reported in the log and recorded
 * in `content_checks`.
 */
export async function verifySample(ctx: Ctx, signal: AbortSignal) {
  const damaged: { id: string; reason: string }[] = []
  const versions = await contentStore.sampleVersions(ctx.db, ctx.newId('sv'), SAMPLE)
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
      // A version that was deleted after it was chosen is not damaged.
      if (!(await contentStore.isFinalized(ctx.db, version.id))) continue
      damaged.push({ id: version.id, reason })
      ctx.log.error({ version: version.id, workspace: version.workspace_id, reason }, 'stored state is damaged')
    }
    checked += 1
  }
  await contentStore.insertCheck(ctx.db, { at: ctx.now(), checked, damaged })
  ctx.log.info({ checked, damaged: damaged.length }, 'checked stored state')
  return { checked, damaged }
}
