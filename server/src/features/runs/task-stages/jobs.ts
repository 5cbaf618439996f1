import { jobHandler } from '../../../jobs/handler.ts'
import { reportVerdictJob } from './deferred-verdict.ts'
import { reportVerdict } from './report-verdict.ts'

export const taskStageJobs = [
  jobHandler(reportVerdictJob, async (ctx, { stageId }) => {
    await reportVerdict(ctx, stageId)
  }),
]
