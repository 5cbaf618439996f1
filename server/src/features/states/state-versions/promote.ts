import type { TransactionCtx } from '../../../app.ts'
import type { WorkspaceRow } from '../../workspaces/workspaces/store.ts'
import { promoteLatest } from './store.ts'

/**
 * Makes the last snapshot of a workspace its current state: for every release of its lock, forced ones included, and for
 * the end of the run that wrote it. Does nothing when there is none. `workspace` was read under its row lock.
 */
export async function promoteIntermediate(
  ctx: TransactionCtx,
  workspace: Pick<WorkspaceRow, 'id' | 'latest_state_version_id' | 'current_state_version_id'>,
) {
  if (workspace.latest_state_version_id === workspace.current_state_version_id) return
  await promoteLatest(ctx.db, workspace.id)
}
