import type { Ctx } from '../../../app.ts'
import { deleteBlobs, sweepBlobs } from '../../../blobs/sweep.ts'
import { scheduledJob } from '../../../handlers.ts'
import { dueBefore, expireInBatches } from '../../../jobs/expire.ts'
import { advanceTrialJob, evaluateTrialJobs } from './evaluate.ts'
import * as store from './store.ts'
import { TRIAL_PREFIX, abandonedBefore } from './urls.ts'

const RETENTION_DAYS = 30
const BATCH = 100

/** Deletes old trials with their archives. */
export async function expireTrials(ctx: Ctx, signal: AbortSignal) {
  const before = dueBefore(ctx.now(), RETENTION_DAYS) ?? ctx.now()
  await expireInBatches<true>(ctx, 'policy trials', {
    signal,
    batch: async () => {
      const { deleted, keys } = await store.deleteTrials(ctx.db, { before, limit: BATCH })
      await deleteBlobs(ctx.blobs, keys)
      return { deleted, next: deleted < BATCH ? undefined : true }
    },
  })
}

/** Deletes archives that no trial names, from interrupted uploads and deleted trials. */
export async function sweepTrials(ctx: Ctx, signal: AbortSignal) {
  const swept = await sweepBlobs(ctx, TRIAL_PREFIX, async (keys) => store.findNamedKeys(ctx.db, keys), signal)
  if (swept > 0) ctx.log.info({ swept }, 'deleted archives without a policy trial')
  return swept
}

/** A trial without a result for this long is checked, in ms. */
const STALLED_MS = 10 * 60_000

/** Continues trials that wait for nothing, since a run or pool was deleted or their job is gone, and ends those without an archive. */
export async function resumeTrials(ctx: Ctx) {
  const now = ctx.now()
  const message = 'the archive was not uploaded within an hour: create a new trial'
  await store.failAbandoned(ctx.db, { before: abandonedBefore(now), now, message })
  const stalled = await store.listStalled(ctx.db, new Date(now.getTime() - STALLED_MS))
  if (stalled.length > 0) await ctx.jobs.enqueueAll(ctx.db, advanceTrialJob, stalled)
}

export const policyTrialJobs = [
  ...evaluateTrialJobs,
  scheduledJob('policy-trials.expire', '27 4 * * *', expireTrials),
  scheduledJob('policy-trials.sweep', '49 3 * * *', sweepTrials, { timeLimitMs: 3_600_000 }),
  scheduledJob('policy-trials.resume', '*/10 * * * *', resumeTrials),
]
