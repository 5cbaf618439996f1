import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { conflict, notFound } from '../../../errors.ts'
import { overrideEvaluation } from '../../policies/policy-evaluations/service.ts'
import { insertComment } from '../runs/actions.ts'
import { applyChange } from '../runs/advance.ts'
import { runAudit } from '../runs/audit.ts'
import { lockRun } from '../runs/locked-run-store.ts'
import * as stageStore from '../runs/stage-store.ts'
import type { TaskStage } from './store.ts'

type OverriddenStage = Pick<TaskStage, 'id' | 'run_id' | 'status'>

/**
 * Overrides failed policies for a caller who is permitted to, and continues the run. Throws `conflict` unless the stage awaits an override. Results
 * of run tasks never do: mandatory tasks stop the run, advisory ones warn.
 */
export async function overrideStage(ctx: Ctx, stage: OverriddenStage, comment: string | undefined) {
  await transact(ctx, async (ctx) => {
    const locked = await lockRun(ctx.db, { id: stage.run_id })
    if (!locked) throw notFound('run')
    if (!(await stageStore.overrideStage(ctx.db, stage.id, ctx.now())))
      throw conflict(`the task stage is ${stage.status}: only one that is awaiting_override can be overridden`)
    await overrideEvaluation(ctx, stage.id, comment)
    const commentId = comment === undefined ? null : await insertComment(ctx, stage.run_id, comment)
    const event = { action: 'overrode_policies', description: 'overrode the failed policies', commentId }
    await applyChange(ctx, locked, { events: [event] })
    await recordAudit(ctx, runAudit(locked.run, 'override_policies'))
  })
}
