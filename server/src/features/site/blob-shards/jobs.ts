import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { jobHandler } from '../../../handlers.ts'
import { jobKind } from '../../../jobs/jobs.ts'

const move = jobKind('blobs.move', z.object({}), { concurrency: 1, retryLimit: 0, timeLimitMs: 3_600_000 })

export const blobShardJobs = [
  jobHandler(move, async (ctx, _, signal) => void (await moveBlobs(ctx, signal)), { schedule: '*/10 * * * *' }),
]

/** Blobs put after this stay in the directories of new blobs: they are read most, and may be deleted soon. */
const SETTLED_AFTER_MS = 5 * 60_000

/** Moves blobs of a disk out of the directories that they are put into, which would grow without end. */
async function moveBlobs(ctx: Ctx, signal: AbortSignal) {
  const began = performance.now()
  const moved = await ctx.blobs.settle(new Date(ctx.now().getTime() - SETTLED_AFTER_MS), signal)
  if (moved > 0) ctx.log.debug({ moved, ms: Math.round(performance.now() - began) }, 'moved blobs to their shards')
  return moved
}
