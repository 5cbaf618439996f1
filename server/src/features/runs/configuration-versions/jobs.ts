import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { blobOwner, sweepBlobs } from '../../../blobs/sweep.ts'
import { jobHandler } from '../../../jobs/handler.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import * as store from './store.ts'
import { ARCHIVE_PREFIX } from './upload.ts'

const sweep = jobKind('configuration-versions.sweep', z.object({}), { concurrency: 1, timeLimitMs: 3_600_000 })

export const configurationVersionJobs = [
  jobHandler(sweep, async (ctx, _, signal) => void (await sweepArchives(ctx, signal)), { schedule: '27 3 * * *' }),
]

/** Deletes archives that no configuration version names: of uploads that broke off, and of deleted workspaces. */
export async function sweepArchives(ctx: Ctx, signal: AbortSignal) {
  const named = async (keys: readonly string[]) =>
    store.findNamedArchives(
      ctx.db,
      keys.map((key) => blobOwner(key, ARCHIVE_PREFIX)),
    )
  const swept = await sweepBlobs(ctx, ARCHIVE_PREFIX, named, signal)
  if (swept > 0) ctx.log.info({ swept }, 'deleted archives that no configuration version names')
  return swept
}
