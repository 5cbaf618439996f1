import { z } from 'zod'
import type { TransactionCtx } from '../../../app.ts'
import { jobKind } from '../../../jobs/jobs.ts'

/** Retried for about an hour: the host may have to be asked for the changed files. */
export const decideDeliveryJob = jobKind('vcs-deliveries.decide', z.object({ id: z.string() }), {
  concurrency: 4,
  retryLimit: 14,
})

/** Has a stored delivery decided after the transaction of `ctx`. */
export async function decideLater(ctx: TransactionCtx, id: string) {
  await ctx.jobs.enqueue(ctx.db, decideDeliveryJob, { id }, { singletonKey: id })
}
