import type { TransactionCtx } from '../../../app.ts'
import type { WorkspaceRow } from '../../workspaces/workspaces/store.ts'
import { announceVersions } from './announce.ts'
import { discardPendingVersion, promoteLatest } from './store.ts'

/** The columns of a workspace's row that say whether its states depend on its lock, as they are under the row lock. */
type LockedStates = Pick<
  WorkspaceRow,
  'id' | 'organization_id' | 'latest_state_version_id' | 'current_state_version_id' | 'pending_state_version_id'
>

/**
 * Settles the states of a workspace whose lock was released, forced releases and the ends of runs included: the last snapshot
 * becomes the current state, and a version that awaits its content is discarded.
 */
export async function settleStates(ctx: TransactionCtx, workspace: LockedStates) {
  if (workspace.latest_state_version_id !== workspace.current_state_version_id) {
    await promoteLatest(ctx.db, workspace.id)
    announceVersion(ctx, workspace, workspace.latest_state_version_id)
  }
  await discardPending(ctx, workspace)
}

/**
 * Discards the version that awaits its content, unless the present holder of the lock created it. Its client has vanished, or
 * has lost the lock under which it may write.
 */
export async function discardPending(
  ctx: TransactionCtx,
  workspace: Pick<LockedStates, 'id' | 'organization_id' | 'pending_state_version_id'>,
) {
  if (workspace.pending_state_version_id === null) return
  await discardPendingVersion(ctx.db, workspace.id)
  announceVersion(ctx, workspace, workspace.pending_state_version_id)
}

function announceVersion(
  ctx: TransactionCtx,
  workspace: Pick<LockedStates, 'id' | 'organization_id'>,
  id: string | null,
) {
  const { id: workspaceId, organization_id: organizationId } = workspace
  if (id !== null) announceVersions(ctx, [{ id, workspace_id: workspaceId, organization_id: organizationId }])
}
