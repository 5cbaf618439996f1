import type { Ctx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import * as store from './store.ts'
import { advanceRun } from '../runs/advance.ts'
import { holdWorkspaceOfRun } from '../../tasks/task-results/store.ts'

/**
 * A verdict that stops a run within this long of the stage's begin, in ms, is told to the run only then, or as soon as
 * somebody has read the stage: a command line that finds the run errored before it has come to the stage shows neither
 * the plan nor the stage.
 */
export const HOLD_MS = 5000

/** Lets a run end by what a stage has decided. Does nothing when that is told already, or the run has ended otherwise. */
export async function tellHeldVerdict(ctx: Ctx, stageId: string) {
  await transact({ ...ctx, actor: SYSTEM }, async (ctx) => {
    const runId = await store.findRunId(ctx.db, stageId)
    if (runId === undefined) return
    await holdWorkspaceOfRun(ctx.db, runId)
    const told = await store.releaseVerdict(ctx.db, stageId)
    if (told) await advanceRun(ctx, told.run_id, { run: { error: told.message } })
  })
}
