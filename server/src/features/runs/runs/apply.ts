import { isEnded } from '@groundstate/contract/run-status'
import type { Ctx } from '../../../app.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { conflict } from '../../../errors.ts'
import { act } from './act.ts'
import type { Run } from './run.ts'
import { isConfirmable } from './status.ts'

/** Confirms a plan, so that it is applied. Throws `conflict` unless the run waits for that. */
export async function applyRun(ctx: Ctx, run: Run, comment: string | undefined) {
  return act(ctx, run, { action: 'confirmed', comment }, async (ctx, { run, workspace }) => {
    if (!isConfirmable(run)) throw conflict(`the run is ${run.status}, ${confirmHint(run)}`)
    if (run.save_plan && run.base_state_version_id !== workspace.current_state_version_id)
      throw conflict('the plan is stale: the state has moved on since it was made, make a new plan')
    return { run: { confirmed_at: ctx.now(), confirmed_by_user_id: actorUserId(ctx.actor) } }
  })
}

function confirmHint(run: Pick<Run, 'status' | 'plan_only'>) {
  if (run.plan_only) return 'and plans only: it can not be applied'
  if (run.status === 'planned_and_finished') return 'its plan has no changes to apply'
  return isEnded(run.status) ? 'it has ended' : 'it can be applied once its plan waits for confirmation'
}
