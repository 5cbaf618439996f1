import { z } from 'zod'
import { jobHandler } from '../../../jobs/handler.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { moveBlobs } from './move.ts'

const move = jobKind('blobs.move', z.object({}), { concurrency: 1, retryLimit: 0, timeLimitMs: 3_600_000 })

export const blobShelfJobs = [
  jobHandler(move, async (ctx, _, signal) => void (await moveBlobs(ctx, signal)), { schedule: '*/10 * * * *' }),
]
