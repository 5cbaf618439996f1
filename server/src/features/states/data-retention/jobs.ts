import { z } from 'zod'
import { type JobHandler, jobHandler } from '../../../jobs/handler.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { applyRetention } from './apply.ts'

const retention = jobKind('data-retention.apply', z.object({}), { concurrency: 1, timeLimitMs: 3_600_000 })

export const dataRetentionJobs: readonly JobHandler[] = [
  jobHandler(retention, async (ctx, _, signal) => applyRetention(ctx, signal), { schedule: '17 3 * * *' }),
]
