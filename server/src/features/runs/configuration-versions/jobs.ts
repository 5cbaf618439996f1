import { z } from 'zod'
import { jobHandler } from '../../../jobs/handler.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { endAbandonedUploads } from './end-uploads.ts'
import { expireArchives } from './expire.ts'
import { sweepArchives } from './sweep.ts'

const sweep = jobKind('configuration-versions.sweep', z.object({}), { concurrency: 1, timeLimitMs: 3_600_000 })
const expiry = jobKind('configuration-versions.expire', z.object({}), { concurrency: 1, timeLimitMs: 3_600_000 })
const end = jobKind('configuration-versions.end-uploads', z.object({}), { concurrency: 1 })

export const configurationVersionJobs = [
  jobHandler(sweep, async (ctx, _, signal) => void (await sweepArchives(ctx, signal)), { schedule: '27 3 * * *' }),
  jobHandler(expiry, async (ctx, _, signal) => expireArchives(ctx, signal), { schedule: '57 * * * *' }),
  jobHandler(end, async (ctx) => endAbandonedUploads(ctx), { schedule: '41 * * * *' }),
]
