import type { Ctx, TransactionCtx } from '../../../app.ts'
import { dueBefore, expireInBatches } from '../../../jobs/expire.ts'
import { deleteBodiesOfRuns, type DeliveryPlace, endDeliveries } from './retention-store.ts'

const BATCH = 100

/** Deletes what was sent to receivers and what they answered, when it is no longer kept; the results stay. */
export async function expireDeliveries(ctx: Ctx, signal: AbortSignal) {
  const before = dueBefore(ctx.now(), ctx.config.deliveryRetentionDays)
  if (!before) return
  await expireInBatches<DeliveryPlace>(ctx, 'deliveries', {
    signal,
    batch: async (after) => {
      const page = await endDeliveries(ctx.db, { before, after, limit: BATCH })
      const deleted = page.filter((delivery) => delivery.is_deleted).length
      return { deleted, next: page.length < BATCH ? undefined : page.at(-1) }
    },
  })
}

/** Deletes the texts of the outcomes of some runs, whose logs are no longer kept either. */
export async function deleteOutcomeBodies(ctx: TransactionCtx, runIds: readonly string[]) {
  if (runIds.length > 0) await deleteBodiesOfRuns(ctx.db, runIds)
}
