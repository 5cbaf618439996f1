import { isEnded } from '@groundstate/contract/run-status'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { conflict, forbidden } from '../../../errors.ts'
import { act } from './act.ts'
import { applyChange } from './advance.ts'
import { runAudit } from './audit.ts'
import { cancelColumns, interruptJob } from './cancel.ts'
import { lockRun } from './locked-run-store.ts'
import type { LockedRun } from './locked-run.ts'
import type { Run } from './run.ts'
import { isCancelable, isDiscardable } from './status.ts'
import { listRunsBefore } from './transition-store.ts'

/**
 * Makes a pending run the next one: runs that are queued before it in its workspace are discarded, and the one that occupies
 * the workspace is discarded or canceled. Throws `conflict` when that one is applying.
 */
export async function forceExecuteRun(ctx: Ctx, run: Run, comment: string | undefined) {
  return act(ctx, run, { action: 'force_executed', comment }, async (ctx, { run, workspace }) => {
    if (run.status !== 'pending' || !run.waits)
      throw forbidden(`the run is ${run.status}: only a pending run that waits for its turn can be force-executed`)
    if (workspace.locked_by_type !== null && workspace.locked_by_type !== 'run')
      throw conflict('the workspace is locked: it must be unlocked before the run can start')
    // The run that occupies the workspace comes last: its end starts the first run in the queue, which must be this one.
    for (const id of await listRunsBefore(ctx.db, run)) await endForRun(ctx, id, run)
    return undefined
  })
}

async function endForRun(ctx: TransactionCtx, id: string, favoured: LockedRun['run']) {
  const locked = await lockRun(ctx.db, { id, workspaceId: favoured.workspace_id })
  if (!locked || isEnded(locked.run.status)) return
  const { run, job } = locked
  const description = `to let ${favoured.id} run first`
  if (isDiscardable(run)) {
    await applyChange(ctx, locked, { requested: 'discard', events: [{ action: 'discarded', description }] })
    await recordAudit(ctx, runAudit({ ...run, favoured: favoured.id }, 'discard'))
  } else if (run.confirmed_at !== null || run.status === 'applying') {
    throw conflict(`${id} is ${run.status}: wait until it has ended, or cancel it`)
  } else if (isCancelable(run)) {
    await interruptJob(ctx, job)
    const events = [{ action: 'canceled', description }]
    await applyChange(ctx, locked, { requested: 'cancel', run: cancelColumns(ctx), events })
    await recordAudit(ctx, runAudit({ ...run, favoured: favoured.id }, 'cancel'))
  }
}
