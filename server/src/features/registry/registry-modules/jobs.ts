import type { Ctx } from '../../../app.ts'
import { sweepBlobs } from '../../../blobs/sweep.ts'
import { scheduledJob } from '../../../handlers.ts'
import { findNamedKeys } from './store.ts'
import { MODULE_PREFIX } from './urls.ts'

export const moduleJobs = [
  scheduledJob('registry-modules.sweep', '33 3 * * *', sweepModules, { timeLimitMs: 3_600_000 }),
]

/** Deletes archives that no version names, from interrupted uploads and deleted modules. */
export async function sweepModules(ctx: Ctx, signal: AbortSignal) {
  const swept = await sweepBlobs(ctx, MODULE_PREFIX, async (keys) => findNamedKeys(ctx.db, keys), signal)
  if (swept > 0) ctx.log.info({ swept }, 'deleted archives without a module version')
  return swept
}
