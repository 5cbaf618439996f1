import type { Ctx } from '../../../app.ts'
import { conflict } from '../../../errors.ts'
import { isLockedBy, lockedBy } from '../../workspaces/workspaces/lock.ts'
import type { Workspace } from '../../workspaces/workspaces/workspace.ts'

type Lockable = Pick<Workspace, 'name' | 'locked_by_type' | 'locked_by_id' | 'locked_reason' | 'locked_at'>

/** State is written by whoever holds the workspace's lock, and by nobody else. Throws `conflict`, which names the owner. */
export async function checkHoldsLock(ctx: Ctx, workspace: Lockable) {
  if (isLockedBy(workspace, ctx.actor)) return checkApplies(ctx)
  const state = await lockedBy(ctx, workspace)
  const remedy =
    workspace.locked_by_id === null ? 'lock it before you write its state' : 'only they can write its state'
  throw conflict(`the workspace ${workspace.name} ${state}: ${remedy}`)
}

/**
 * A run holds the lock from its plan on, but only its apply writes state: whoever may only plan chooses what code a plan
 * runs, and it has the plan's token.
 */
async function checkApplies({ db, actor }: Ctx) {
  if (actor.kind !== 'run') return
  const run = await db.selectFrom('runs').select('status').where('id', '=', actor.runId).executeTakeFirst()
  if (run?.status !== 'applying') {
    throw conflict(`the run ${actor.runId} is ${run?.status ?? 'gone'}: a run writes state while it applies`)
  }
}
