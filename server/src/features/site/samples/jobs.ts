import { type JobHandler, jobHandler } from '../../../handlers.ts'
import { uploadJob } from './parts.ts'
import { reportSampleResult, reviewJob } from './review.ts'
import { uploadSampleConfigurations } from './service.ts'

export const sampleJobs: readonly JobHandler[] = [
  jobHandler(uploadJob, async (ctx, data) => uploadSampleConfigurations(ctx, data)),
  jobHandler(reviewJob, async (ctx, data, signal) => reportSampleResult(ctx, data, signal)),
]
