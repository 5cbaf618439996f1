import type { Ctx } from '../../../app.ts'
import { dueBefore, expireInBatches } from '../../../jobs/expire.ts'
import { announceDeletedAgents } from './announce.ts'
import { deleteSilentAgents } from './store.ts'

const BATCH = 200

/** Deletes agents that have exited or fallen silent long ago: each start of one under a new name leaves another. */
export async function expireAgents(ctx: Ctx, signal: AbortSignal) {
  const before = dueBefore(ctx.now(), ctx.config.agentRetentionDays)
  if (!before) return
  await expireInBatches<true>(ctx, 'agents', {
    signal,
    batch: async () => {
      const deleted = await deleteSilentAgents(ctx.db, { before, limit: BATCH })
      announceDeletedAgents(ctx, deleted)
      return { deleted: deleted.length, next: deleted.length < BATCH ? undefined : true }
    },
  })
}
