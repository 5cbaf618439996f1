import { z } from 'zod'
import { jobHandler } from '../../../jobs/handler.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { sweepRunBlobs } from './sweep.ts'
import { compactLogs } from './compact-logs.ts'

/** A log that has just ended is being read: what is read often is cheaper in rows, for this long in ms. */
const REST_MS = 30_000

const compaction = jobKind('logs.compact', z.object({}), { concurrency: 1, retryLimit: 0 })
const sweep = jobKind('runs.sweep', z.object({}), { concurrency: 1, timeLimitMs: 3_600_000 })

export const planJobs = [
  jobHandler(compaction, async (ctx, _, signal) => compactLogs(ctx, new Date(ctx.now().getTime() - REST_MS), signal), {
    schedule: '* * * * *',
  }),
  jobHandler(sweep, async (ctx, _, signal) => void (await sweepRunBlobs(ctx, signal)), { schedule: '7 3 * * *' }),
]
