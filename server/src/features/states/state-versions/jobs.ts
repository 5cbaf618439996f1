import { z } from 'zod'
import { type JobHandler, jobHandler } from '../../../jobs/handler.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { extractVersion } from './extract.ts'
import { extractionJob } from './extraction-job.ts'
import { sweepOrphans } from './sweep.ts'
import { verifySample } from './verify.ts'

const DAILY = { concurrency: 1, timeLimitMs: 3_600_000 }
const sweep = jobKind('state-versions.sweep', z.object({}), DAILY)
const verification = jobKind('state-versions.verify', z.object({}), DAILY)

export const stateVersionJobs: readonly JobHandler[] = [
  jobHandler(extractionJob, async (ctx, { id }) => extractVersion(ctx, id)),
  jobHandler(sweep, async (ctx, _, signal) => void (await sweepOrphans(ctx, signal)), { schedule: '47 3 * * *' }),
  jobHandler(verification, async (ctx, _, signal) => void (await verifySample(ctx, signal)), {
    schedule: '17 4 * * *',
  }),
]
