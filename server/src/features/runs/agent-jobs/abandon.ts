import type { TransactionCtx } from '../../../app.ts'

/**
 * Wakes the agents that are at work in a workspace, for whoever deletes it in this transaction: their heartbeats find the
 * job gone and end its engine, rather than hours later an engine that nobody can see any more.
 */
export async function abandonJobs(ctx: TransactionCtx, workspaceId: string) {
  const jobs = await ctx.db
    .selectFrom('agent_jobs as j')
    .innerJoin('runs as r', 'r.id', 'j.run_id')
    .select('j.id')
    .where('r.workspace_id', '=', workspaceId)
    .where('j.status', '=', 'running')
    .execute()
  for (const { id } of jobs) await ctx.signals.publish(ctx.db, `job:${id}`)
}
