import { jobHandler } from '../../../jobs/handler.ts'
import { endDeferral } from './advance.ts'
import { recheck } from './recheck-job.ts'

export const runJobs = [
  jobHandler(recheck, async (ctx, { runId }) => {
    await endDeferral(ctx, runId)
  }),
]
