import { z } from 'zod'
import { jobHandler } from '../../../jobs/handler.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { sweepSessions } from './sweep.ts'

export const sweepSessionsJob = jobKind('sessions.sweep', z.object({}), { concurrency: 1, retryLimit: 0 })

export const sessionJobs = [jobHandler(sweepSessionsJob, async (ctx) => sweepSessions(ctx), { schedule: '17 * * * *' })]
