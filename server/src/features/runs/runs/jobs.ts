import { jobHandler } from '../../../jobs/handler.ts'
import { endDeferral } from './advance.ts'
import { endDeferralJob } from './deferral.ts'

export const runJobs = [
  jobHandler(endDeferralJob, async (ctx, { runId }) => {
    await endDeferral(ctx, runId)
  }),
]
