import type { Ctx } from '../../../app.ts'
import { listReadableWorkspaces } from '../../workspaces/workspaces/access.ts'
import * as store from './store.ts'

/** A job that an agent works on; the run is named to those who may read it. */
export type ShownJob = { kind: store.CurrentJob['kind']; run_id: string | null; leased_at: Date }

/** What agents work on, by their ids. */
export async function listCurrentJobs(ctx: Ctx, agentIds: readonly string[]): Promise<Map<string, ShownJob[]>> {
  const jobs = await store.listCurrentJobs(ctx.db, { agentIds, now: ctx.now() })
  const workspaces = await listReadableWorkspaces(ctx, [...new Set(jobs.map(({ workspace_id }) => workspace_id))])
  const readable = new Set(workspaces.filter(({ can }) => can.has('runs:read')).map(({ id }) => id))
  const shown = new Map<string, ShownJob[]>()
  for (const { agent_id, kind, run_id, leased_at, workspace_id } of jobs) {
    if (agent_id === null || leased_at === null) continue
    const job = { kind, run_id: readable.has(workspace_id) ? run_id : null, leased_at }
    shown.set(agent_id, [...(shown.get(agent_id) ?? []), job])
  }
  return shown
}
