import { z } from 'zod'
import { jobKind } from '../../../jobs/jobs.ts'
import { CONFIGURATIONS } from './parts.ts'

/** Brings the configurations of a new sample into its workspaces, in this order. */
export const uploadJob = jobKind(
  'samples.upload',
  z.object({ versions: z.array(z.object({ id: z.string(), configuration: z.enum(CONFIGURATIONS) })) }),
  { timeLimitMs: 60_000 },
)
