import type { Resource } from '@groundstate/contract/json-api'
import type { Ctx } from '../../../app.ts'
import { workspaceResource } from './resource.ts'
import type { Workspace } from './workspace.ts'
import { listWaitingReasons } from './list-waiting-reasons.ts'

/** Presents workspaces that were asked for: with why their runs wait. */
export async function workspaceResources(ctx: Ctx, workspaces: readonly Workspace[]): Promise<Resource[]> {
  const reasons = await listWaitingReasons(
    ctx,
    workspaces.filter(mayWait).map(({ id }) => id),
  )
  return workspaces.map((workspace) =>
    workspaceResource(workspace, { waitingReason: reasons.get(workspace.id) ?? null }),
  )
}

/** Whether a run may wait there: an idle workspace costs no look. */
function mayWait({ active_run_id, waiting_runs, can }: Workspace) {
  return (active_run_id !== null || waiting_runs > 0) && can.has('runs:read')
}

/** As `workspaceResources`, for one. */
export async function shownWorkspace(ctx: Ctx, workspace: Workspace): Promise<Resource> {
  const [resource] = await workspaceResources(ctx, [workspace])
  return resource ?? workspaceResource(workspace)
}
