import type { Ctx } from '../../../app.ts'
import { sweepBlobs } from '../../../blobs/sweep.ts'
import { scheduledJob } from '../../../handlers.ts'
import * as store from './store.ts'
import { POLICY_PREFIX, abandonedBefore } from './urls.ts'

export const policySetVersionJobs = [
  scheduledJob('policy-sets.sweep', '39 3 * * *', sweepPolicies, { timeLimitMs: 3_600_000 }),
  scheduledJob('policy-sets.end-uploads', '47 * * * *', endAbandonedUploads),
]

/** Marks versions as errored whose upload URL has expired and whose upload must have ended. */
export async function endAbandonedUploads(ctx: Ctx) {
  const now = ctx.now()
  const message = 'the archive was not uploaded within 25 hours: create a new version'
  const ended = await store.failAbandoned(ctx.db, { before: abandonedBefore(now), now, message })
  if (ended > 0) ctx.log.info({ ended }, 'ended policy set versions that were never uploaded')
}

/** Deletes archives that no version and no bundle names, from interrupted uploads and deleted sets. */
export async function sweepPolicies(ctx: Ctx, signal: AbortSignal) {
  const swept = await sweepBlobs(ctx, POLICY_PREFIX, async (keys) => store.findNamedKeys(ctx.db, keys), signal)
  if (swept > 0) ctx.log.info({ swept }, 'deleted archives without a policy set version')
  return swept
}
