import { z } from 'zod'
import { jobKind } from '../../../jobs/jobs.ts'

/** Extracts outputs and resources from the content of a finalized version. */
export const extractionJob = jobKind('state-versions.extract', z.object({ id: z.string() }), { concurrency: 2 })
