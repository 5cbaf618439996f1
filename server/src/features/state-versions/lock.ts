import type { Ctx } from '../../app.ts'
import { conflict } from '../../errors.ts'
import { isLockedBy, lockedBy, type Workspace } from '../workspaces/service.ts'

type Lockable = Pick<Workspace, 'name' | 'locked_by_type' | 'locked_by_id' | 'locked_reason' | 'locked_at'>

/** State is written by whoever holds the workspace's lock, and by nobody else. Throws `conflict`, which names the owner. */
export async function checkHoldsLock(ctx: Ctx, workspace: Lockable) {
  if (isLockedBy(workspace, ctx.actor)) return
  const state = await lockedBy(ctx, workspace)
  const remedy =
    workspace.locked_by_id === null ? 'lock it before you write its state' : 'only they can write its state'
  throw conflict(`the workspace ${workspace.name} ${state}: ${remedy}`)
}
