import type { Ctx } from '../../../app.ts'
import * as store from './waiting-store.ts'
import { openTasks, waitingReason } from './waiting.ts'

/**
 * The reasons for which workspaces wait, by their ids: that of the active run, else that of the first run in the queue.
 * Workspaces without a reason are left out.
 */
export async function listWaitingReasons(ctx: Ctx, workspaceIds: readonly string[]): Promise<Map<string, string>> {
  const reasons = new Map<string, string>()
  if (workspaceIds.length === 0) return reasons
  const now = ctx.now()
  for (const run of await store.listWaiting(ctx.db, { workspaceIds, now })) {
    const reason = waitingReason(run.waiting, { tasks: openTasks(run.task_stages), now })
    if (reason !== null && !reasons.has(run.workspace_id)) reasons.set(run.workspace_id, `${run.id} waits: ${reason}`)
  }
  return reasons
}
