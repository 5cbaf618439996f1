import type { Ctx } from '../../../app.ts'
import { scheduledJob } from '../../../handlers.ts'
import { dueBefore, expireInBatches } from '../../../jobs/expire.ts'
import { deleteLeftConfigurations } from './event-store.ts'
import { deleteNotifications } from './store.ts'

export const notificationJobs = [
  scheduledJob('notifications.expire', '52 * * * *', expireNotifications, { timeLimitMs: 3_600_000 }),
]

const BATCH = 500

/** Deletes expired notifications, and configurations of deleted workspaces that have sent everything. */
export async function expireNotifications(ctx: Ctx, signal: AbortSignal) {
  await deleteLeftConfigurations(ctx.db)
  const before = dueBefore(ctx.now(), ctx.config.deliveryRetentionDays)
  if (!before) return
  await expireInBatches<true>(ctx, 'notifications', {
    signal,
    batch: async () => {
      const deleted = await deleteNotifications(ctx.db, { before, limit: BATCH })
      return { deleted, next: deleted < BATCH ? undefined : true }
    },
  })
}
