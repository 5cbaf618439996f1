import { z } from 'zod'
import { jobHandler } from '../../../jobs/handler.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { tellHeldVerdict } from './held-verdict.ts'

/** Tells a run what one of its stages has decided, when nobody has read the stage until then. */
export const tellVerdict = jobKind('task-stage.tell', z.object({ stageId: z.string() }), { concurrency: 2 })

export const taskStageJobs = [
  jobHandler(tellVerdict, async (ctx, { stageId }) => {
    await tellHeldVerdict(ctx, stageId)
  }),
]
