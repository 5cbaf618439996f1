import type { Ctx } from '../../../app.ts'
import { scheduledJob } from '../../../handlers.ts'

/** Blobs newer than this stay in the directories of new blobs: they are read most, and may be deleted soon. */
const SETTLED_AFTER_MS = 5 * 60_000

export const blobShardJobs = [
  scheduledJob('blobs.move', '*/10 * * * *', moveBlobs, { retryLimit: 0, timeLimitMs: 3_600_000 }),
]

/** Moves blobs on disk from the directories of new blobs, which would grow without limit, to their shards, and deletes what interrupted uploads left. */
async function moveBlobs(ctx: Ctx, signal: AbortSignal) {
  const startedAt = performance.now()
  const moved = await ctx.blobs.settle(new Date(ctx.now().getTime() - SETTLED_AFTER_MS), signal)
  if (moved > 0) ctx.log.debug({ moved, ms: Math.round(performance.now() - startedAt) }, 'moved blobs to their shards')
}
