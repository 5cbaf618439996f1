import type { Ctx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { raise } from '../../../events/reaction.ts'
import { lockWorkspaceOfRun } from '../../tasks/task-results/store.ts'
import { verdictReported } from './events.ts'
import * as store from './store.ts'

/** Reports a deferred verdict to its run, which ends by it. Does nothing when the run has it already, or has ended. */
export async function reportVerdict(ctx: Ctx, stageId: string) {
  await transact({ ...ctx, actor: SYSTEM }, async (ctx) => {
    const runId = await store.findRunId(ctx.db, stageId)
    if (runId === undefined) return
    await lockWorkspaceOfRun(ctx.db, runId)
    const released = await store.releaseVerdict(ctx.db, stageId)
    if (released) await raise(ctx, verdictReported, { runId, error: released.message })
  })
}
