import { z } from 'zod'
import { jobHandler } from '../../../jobs/handler.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { advanceRun } from './transitions.ts'

/** Looks again at a run whose failed apply was not told at once. */
export const lookAgain = jobKind('run.advance', z.object({ runId: z.string() }), { concurrency: 2 })

export const runJobs = [
  jobHandler(lookAgain, async (ctx, { runId }) => {
    await advanceRun(ctx, runId)
  }),
]
