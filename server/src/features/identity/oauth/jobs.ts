import { z } from 'zod'
import { jobHandler } from '../../../jobs/handler.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { sweepCodes } from './sweep.ts'

const sweep = jobKind('oauth.sweep', z.object({}), { concurrency: 1, retryLimit: 0 })

export const oauthJobs = [jobHandler(sweep, async (ctx) => sweepCodes(ctx), { schedule: '43 * * * *' })]
