import type { Ctx, TransactionCtx } from '../../../app.ts'
import { scheduledJob } from '../../../handlers.ts'
import { dueBefore, expireInBatches } from '../../../jobs/expire.ts'
import { type DeliveryCursor, deleteBodiesOfRuns, endDeliveries } from './deliveries-store.ts'

export const taskResultJobs = [
  scheduledJob('task-deliveries.expire', '37 * * * *', expireDeliveries, { timeLimitMs: 3_600_000 }),
]

const BATCH = 100

export async function expireDeliveries(ctx: Ctx, signal: AbortSignal) {
  const before = dueBefore(ctx.now(), ctx.config.deliveryRetentionDays)
  if (!before) return
  await expireInBatches<DeliveryCursor>(ctx, 'deliveries', {
    signal,
    batch: async (after) => {
      const page = await endDeliveries(ctx.db, { before, after, limit: BATCH })
      const deleted = page.filter((delivery) => delivery.is_deleted).length
      return { deleted, next: page.length < BATCH ? undefined : page.at(-1) }
    },
  })
}

/** Deletes the outcome bodies of runs with expired logs. */
export async function deleteOutcomeBodies(ctx: TransactionCtx, runIds: readonly string[]) {
  if (runIds.length > 0) await deleteBodiesOfRuns(ctx.db, runIds)
}
