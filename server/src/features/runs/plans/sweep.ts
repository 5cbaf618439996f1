import type { Ctx } from '../../../app.ts'
import { blobOwner, sweepBlobs } from '../../../blobs/sweep.ts'
import { ARTIFACT_PREFIX } from './artifact.ts'
import { LOG_PREFIX } from './log.ts'
import * as store from './store.ts'

/** Deletes the logs and files of deleted runs. Returns the number of deleted blobs. */
export async function sweepRunBlobs(ctx: Ctx, signal: AbortSignal) {
  const sweep = async (prefix: string, find: (ids: readonly string[]) => Promise<ReadonlySet<string>>) => {
    const named = async (keys: readonly string[]) => {
      const found = await find([...new Set(keys.map((key) => blobOwner(key, prefix)))])
      return new Set(keys.filter((key) => found.has(blobOwner(key, prefix))))
    }
    return sweepBlobs(ctx, prefix, named, signal)
  }
  const logs = await sweep(LOG_PREFIX, async (ids) => store.findPhaseIds(ctx.db, ids))
  const artifacts = await sweep(ARTIFACT_PREFIX, async (ids) => store.findRunIds(ctx.db, ids))
  if (logs + artifacts > 0) ctx.log.info({ logs, artifacts }, 'deleted logs and files of runs that are gone')
  return logs + artifacts
}
