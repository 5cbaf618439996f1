import { z } from 'zod'
import { jobHandler } from '../../../jobs/handler.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { sweepArchives } from './sweep.ts'

const sweep = jobKind('configuration-versions.sweep', z.object({}), { concurrency: 1, timeLimitMs: 3_600_000 })

export const configurationVersionJobs = [
  jobHandler(sweep, async (ctx, _, signal) => void (await sweepArchives(ctx, signal)), { schedule: '27 3 * * *' }),
]
