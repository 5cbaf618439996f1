import { z } from 'zod'
import { jobKind } from '../../../jobs/jobs.ts'

/** Lets a run end whose failed apply was deferred, when nobody has opened the log until then. */
export const recheck = jobKind('run.advance', z.object({ runId: z.string() }), { concurrency: 2 })
