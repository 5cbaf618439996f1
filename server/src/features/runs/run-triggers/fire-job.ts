import { z } from 'zod'
import { jobKind } from '../../../jobs/jobs.ts'

/** Starts the run of a workspace for which firings wait. */
export const fireJob = jobKind('run-triggers.fire', z.object({ workspaceId: z.string() }), {
  concurrency: 4,
  timeLimitMs: 60_000,
})
