import { z } from 'zod'
import { jobHandler } from '../../../jobs/handler.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { compactLogs } from './compact-logs.ts'
import { expirePlans } from './expire.ts'
import { sweepRunBlobs } from './sweep.ts'

/** How long logs stay in rows after their end, in ms: new logs are read often, and rows are cheaper to read. */
const COMPACTION_DELAY_MS = 30_000

const compaction = jobKind('logs.compact', z.object({}), { concurrency: 1, retryLimit: 0 })
const sweep = jobKind('runs.sweep', z.object({}), { concurrency: 1, timeLimitMs: 3_600_000 })
const expiry = jobKind('runs.expire', z.object({}), { concurrency: 1, timeLimitMs: 3_600_000 })

export const planJobs = [
  jobHandler(
    compaction,
    async (ctx, _, signal) => compactLogs(ctx, new Date(ctx.now().getTime() - COMPACTION_DELAY_MS), signal),
    {
      schedule: '* * * * *',
    },
  ),
  jobHandler(sweep, async (ctx, _, signal) => void (await sweepRunBlobs(ctx, signal)), { schedule: '7 3 * * *' }),
  jobHandler(expiry, async (ctx, _, signal) => expirePlans(ctx, signal), { schedule: '22 * * * *' }),
]
