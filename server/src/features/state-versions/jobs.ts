import { jobHandler, type JobHandler } from '../../jobs/jobs.ts'
import { EXTRACT, extractVersion } from './extract-job.ts'

export const stateVersionJobs: readonly JobHandler[] = [jobHandler(EXTRACT, async (ctx, { id }) => extractVersion(ctx, id))]
