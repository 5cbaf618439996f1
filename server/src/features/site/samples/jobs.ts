import { type JobHandler, jobHandler } from '../../../jobs/handler.ts'
import { reportSampleVerdict } from './report-verdict.ts'
import { reviewJob } from './review-job.ts'
import { uploadSampleConfigurations } from './upload-configurations.ts'
import { uploadJob } from './upload-job.ts'

export const sampleJobs: readonly JobHandler[] = [
  jobHandler(uploadJob, async (ctx, data) => uploadSampleConfigurations(ctx, data)),
  jobHandler(reviewJob, async (ctx, data, signal) => reportSampleVerdict(ctx, data, signal)),
]
