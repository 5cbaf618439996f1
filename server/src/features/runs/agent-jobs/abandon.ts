import type { TransactionCtx } from '../../../app.ts'
import { lockOpenJobs } from './store.ts'

/**
 * Wakes the agents that work in a workspace which this transaction deletes. Their heartbeats then find the job gone, and they
 * end the engine at once. Without a signal it would run on for hours, and nobody could see it.
 */
export async function abandonJobs(ctx: TransactionCtx, workspaceId: string) {
  for (const { id } of await lockOpenJobs(ctx.db, workspaceId)) await ctx.signals.publish(ctx.db, `job:${id}`)
}
