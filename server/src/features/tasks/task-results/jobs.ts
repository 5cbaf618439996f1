import { z } from 'zod'
import { jobHandler } from '../../../jobs/handler.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { expireDeliveries } from './expire.ts'

const expiry = jobKind('task-deliveries.expire', z.object({}), { concurrency: 1, timeLimitMs: 3_600_000 })

export const taskResultJobs = [
  jobHandler(expiry, async (ctx, _, signal) => expireDeliveries(ctx, signal), { schedule: '37 * * * *' }),
]
