import { z } from 'zod'
import { jobHandler, jobKind } from '../../jobs/jobs.ts'
import { compactLogs } from './logs.ts'

/** A log that has just ended is being read: what is read often is cheaper in rows, for this long in ms. */
const REST_MS = 30_000

const compaction = jobKind('logs.compact', z.object({}), { concurrency: 1, retryLimit: 0 })

export const planJobs = [
  jobHandler(compaction, async (ctx, _, signal) => compactLogs(ctx, new Date(ctx.now().getTime() - REST_MS), signal), {
    schedule: '* * * * *',
  }),
]
