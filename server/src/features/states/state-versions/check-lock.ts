import type { Ctx } from '../../../app.ts'
import { conflict } from '../../../errors.ts'
import { isLockedBy } from '../../workspaces/workspaces/lock-holder.ts'
import { describeLock } from '../../workspaces/workspaces/lock.ts'
import type { Workspace } from '../../workspaces/workspaces/workspace.ts'
import { findRunStatus } from './store.ts'

type Lockable = Pick<Workspace, 'name' | 'locked_by_type' | 'locked_by_id' | 'locked_reason' | 'locked_at'>

/** Only the holder of a workspace's lock may write its state. Throws `conflict`, which names the holder. */
export async function checkHoldsLock(ctx: Ctx, workspace: Lockable) {
  if (isLockedBy(workspace, ctx.actor)) return checkApplies(ctx)
  const state = await describeLock(ctx, workspace)
  const remedy =
    workspace.locked_by_id === null ? 'lock it before you write its state' : 'only they can write its state'
  throw conflict(`the workspace ${workspace.name} ${state}: ${remedy}`)
}

/**
 * A run holds the lock from its plan on, but only its apply writes state: code that runs in a plan has the run's token too, and
 * it may be chosen by users who must not apply.
 */
async function checkApplies({ db, actor }: Ctx) {
  if (actor.kind !== 'run') return
  const status = await findRunStatus(db, actor.runId)
  if (status !== 'applying') {
    throw conflict(`the run ${actor.runId} is ${status ?? 'gone'}: a run writes state while it applies`)
  }
}
