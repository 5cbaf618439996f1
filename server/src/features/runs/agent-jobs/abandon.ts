import type { TransactionCtx } from '../../../app.ts'
import { type JobPlace, lockOpenJobs } from './store.ts'

/**
 * Wakes the agents that work in a workspace or an organization which this transaction deletes. Their heartbeats then find the job
 * gone, and they end the engine at once. Without a signal it would run on for hours, and nobody could see it.
 */
export async function abandonJobs(ctx: TransactionCtx, place: JobPlace) {
  for (const { id } of await lockOpenJobs(ctx.db, place)) ctx.signals.publish(ctx.db, `job:${id}`)
}
