import type { Ctx } from '../../../app.ts'
import { blobOwner, sweepBlobs } from '../../../blobs/sweep.ts'
import { jobHandler, reaction, scheduledJob } from '../../../handlers.ts'
import { workspaceLocking, workspaceUnlocked } from '../../workspaces/workspaces/audit.ts'
import * as contentStore from './content-store.ts'
import { BLOB_PREFIX, md5Of, readContent } from './content.ts'
import { extractVersion, extractionJob } from './extraction.ts'
import { discardPending, settleStates } from './service.ts'

export const stateVersionJobs = [
  jobHandler(extractionJob, async (ctx, { id }) => extractVersion(ctx, id)),
  scheduledJob('state-versions.sweep', '47 3 * * *', sweepOrphans, { timeLimitMs: 3_600_000 }),
  scheduledJob('state-versions.verify', '17 4 * * *', verifySample, { timeLimitMs: 3_600_000 }),
]

export const stateVersionReactions = [
  reaction(workspaceUnlocked, settleStates),
  reaction(workspaceLocking, discardPending),
]

/** Deletes orphaned blobs, left by failed requests, killed processes and deleted workspaces. Returns their number. */
export async function sweepOrphans(ctx: Ctx, signal: AbortSignal) {
  const named = async (keys: readonly string[]) => {
    const ids = keys.map((key) => blobOwner(key, BLOB_PREFIX))
    return contentStore.findNamedLocations(ctx.db, ids)
  }
  const swept = await sweepBlobs(ctx, BLOB_PREFIX, named, signal)
  await contentStore.deleteDiscardedContents(ctx.db)
  if (swept > 0) ctx.log.info({ swept }, 'deleted state content without a state version')
  return swept
}

/** Number of versions that are verified each day. */
const SAMPLE = 200

/** Reads the content of a random sample of versions and compares size and hash. Logs damage and records it in `content_checks`. */
export async function verifySample(ctx: Ctx, signal: AbortSignal) {
  const damaged: { id: string; reason: string }[] = []
  const versions = await contentStore.sampleVersions(ctx.db, ctx.newId('sv'), SAMPLE)
  let checked = 0
  for (const version of versions) {
    if (signal.aborted) break
    try {
      const raw = await readContent(ctx, version, 'raw')
      if (raw === undefined) throw new Error('the content is missing')
      if (raw.length !== version.size) throw new Error(`it has ${raw.length} bytes, not ${version.size}`)
      if (md5Of(raw) !== version.md5) throw new Error(`its md5 is ${md5Of(raw)}, not ${version.md5}`)
      if (version.json_location !== null) await readContent(ctx, version, 'json')
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      // A version that was deleted after the selection is not damaged.
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
