import { isEnded } from '@groundstate/contract/run-status'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { conflict } from '../../../errors.ts'
import { act } from './act.ts'
import type { LockedJob } from './locked-run.ts'
import type { Run } from './run.ts'
import { isCancelable, isForceCancelable, isForcible } from './status.ts'
import { updateJobCommand } from './transition-store.ts'

/** Ends a run: at once where no agent works on it, else by interrupting the engine, which then stops in an orderly way. */
export async function cancelRun(ctx: Ctx, run: Run, comment: string | undefined) {
  return act(ctx, run, { action: 'canceled', comment }, async (ctx, { run, job }) => {
    if (!isCancelable(run)) {
      if (run.cancel_requested_at !== null && !isEnded(run.status))
        throw conflict(`the run is being canceled already, since ${run.cancel_requested_at.toISOString()}`)
      throw conflict(`the run is ${run.status}, it can not be canceled any more`)
    }
    await interruptJob(ctx, job)
    return {
      requested: 'cancel',
      run: { ...cancelColumns(ctx), canceled_by_user_id: actorUserId(ctx.actor) },
    }
  })
}

/** Ends a run on which a cancel had no effect: its engine is killed, and its work is left as it is. */
export async function forceCancelRun(ctx: Ctx, run: Run, comment: string | undefined) {
  return act(ctx, run, { action: 'force_canceled', comment }, async (ctx, { run }) => {
    if (isEnded(run.status)) throw conflict(`the run is ${run.status}, it has ended`)
    if (!isForcible(run.status))
      throw conflict(
        `the run is ${run.status}, nothing is under way that has to be ended by force: cancel or discard it`,
      )
    if (run.cancel_requested_at === null) throw conflict('the run must be canceled first, and be given time to wind up')
    if (!isForceCancelable(run, ctx.now()))
      throw conflict(`a forced cancel is possible from ${run.force_cancel_available_at?.toISOString()} on`)
    return { requested: 'force-cancel' }
  })
}

/** Tells the agent that works on a job, if one does, to interrupt the engine. */
export async function interruptJob(ctx: TransactionCtx, job: LockedJob | undefined) {
  if (job?.status !== 'running') return
  await updateJobCommand(ctx.db, job.id, 'cancel')
  ctx.signals.publish(ctx.db, `job:${job.id}`)
}

/** What a cancel changes in the row of its run. */
export function cancelColumns(ctx: Pick<Ctx, 'now' | 'config'>) {
  const now = ctx.now()
  return {
    cancel_requested_at: now,
    force_cancel_available_at: new Date(now.getTime() + ctx.config.cancelGrace),
  }
}
