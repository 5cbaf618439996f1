import { z } from 'zod'
import { jobKind } from '../../../jobs/jobs.ts'

/** Lets the sample's receiver call back. The paths are on this server; the token of the task result is sealed for it, in base64. */
export const reviewJob = jobKind(
  'samples.review',
  z.object({
    resultId: z.string(),
    token: z.string(),
    callback: z.string(),
    plan: z.string().nullable(),
    runUrl: z.string(),
  }),
  { timeLimitMs: 120_000 },
)

/** The context that the token of a review is sealed for. */
export function reviewContext(resultId: string) {
  return `samples/review/${resultId}`
}
