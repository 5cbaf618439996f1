import { reaction } from '../../../events/reaction.ts'
import { resultsEnded } from '../../tasks/task-results/events.ts'
import { advanceRun } from '../runs/advance.ts'
import type { Change } from '../runs/transition.ts'
import { settleStage } from './settle.ts'

export const taskStageReactions = [
  reaction(resultsEnded, async (ctx, { runId, stageIds }) => {
    let change: Change | undefined
    for (const stageId of stageIds) {
      const settled = await settleStage(ctx, stageId)
      if (settled) change = { ...change, ...settled }
    }
    if (change) await advanceRun(ctx, runId, change)
  }),
]
