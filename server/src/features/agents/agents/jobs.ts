import { z } from 'zod'
import { jobHandler } from '../../../jobs/handler.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { expireAgents } from './expire.ts'

const expiry = jobKind('agents.expire', z.object({}), { concurrency: 1 })

export const agentJobs = [
  jobHandler(expiry, async (ctx, _, signal) => expireAgents(ctx, signal), { schedule: '12 3 * * *' }),
]
