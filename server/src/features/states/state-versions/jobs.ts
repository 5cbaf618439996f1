import { z } from 'zod'
import { type JobHandler, jobHandler } from '../../../jobs/handler.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { EXTRACT, extractVersion } from './extract.ts'
import { sweepOrphans, verifySample } from './upkeep.ts'

const DAILY = { concurrency: 1, timeLimitMs: 3_600_000 }
export const SWEEP = jobKind('state-versions.sweep', z.object({}), DAILY)
export const VERIFY = jobKind('state-versions.verify', z.object({}), DAILY)

export const stateVersionJobs: readonly JobHandler[] = [
  jobHandler(EXTRACT, async (ctx, { id }) => extractVersion(ctx, id)),
  jobHandler(SWEEP, async (ctx, _, signal) => void (await sweepOrphans(ctx, signal)), { schedule: '47 3 * * *' }),
  jobHandler(VERIFY, async (ctx, _, signal) => void (await verifySample(ctx, signal)), { schedule: '17 4 * * *' }),
]
