import { z } from 'zod'
import { jobKind } from '../../../jobs/jobs.ts'

/**
 * A verdict that stops a run is deferred to this long after the start of its stage, in ms, or until somebody reads
 * the stage. A command line that finds the run errored before it has come to the stage shows neither the plan nor the
 * stage.
 */
export const DEFERRAL_MS = 5000

/** Reports the verdict of a stage to its run when nobody has read the stage until then. */
export const reportVerdictJob = jobKind('task-stage.tell', z.object({ stageId: z.string() }), { concurrency: 2 })
