import type { Resource } from '@groundstate/contract/json-api'
import type { Ctx } from '../../../app.ts'
import { listWaitingReasons } from './list-waiting-reasons.ts'
import { workspaceResource } from './resource.ts'
import type { Workspace } from './workspace.ts'

/** The resources of requested workspaces, each with the reason why a run waits there. */
export async function showWorkspaces(ctx: Ctx, workspaces: readonly Workspace[]): Promise<Resource[]> {
  const reasons = await listWaitingReasons(
    ctx,
    workspaces.filter((workspace) => mayHaveWaitingRun(ctx, workspace)).map(({ id }) => id),
  )
  return workspaces.map((workspace) =>
    workspaceResource(workspace, { waitingReason: reasons.get(workspace.id) ?? null }),
  )
}

/**
 * An idle workspace needs no query, and the reason is only for those who may read its runs. The engine of the active run, which
 * asks for its workspace with each command, is at work and need not be told why it would wait.
 */
function mayHaveWaitingRun({ actor }: Ctx, { active_run_id, waiting_runs, can }: Workspace) {
  if (actor.kind === 'run' && actor.runId === active_run_id) return false
  return (active_run_id !== null || waiting_runs > 0) && can.has('runs:read')
}

/** As `showWorkspaces`, for one. */
export async function showWorkspace(ctx: Ctx, workspace: Workspace): Promise<Resource> {
  const [resource] = await showWorkspaces(ctx, [workspace])
  return resource ?? workspaceResource(workspace)
}
