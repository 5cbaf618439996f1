import type { Ctx } from '../../../app.ts'
import { reaction, scheduledJob } from '../../../handlers.ts'
import { dueBefore, expireInBatches } from '../../../jobs/expire.ts'
import { tokensDeleted } from '../../identity/tokens/store.ts'
import { announceDeletedAgents } from './announce.ts'
import { endAgentSessions } from './service.ts'
import { deleteOfflineAgents } from './store.ts'

export const agentJobs = [scheduledJob('agents.expire', '12 3 * * *', expireAgents)]

const BATCH = 200

/** Deletes agents that exited or went offline long ago. Every start under a new name leaves one behind. */
export async function expireAgents(ctx: Ctx, signal: AbortSignal) {
  const before = dueBefore(ctx.now(), ctx.config.agentRetentionDays)
  if (!before) return
  await expireInBatches<true>(ctx, 'agents', {
    signal,
    batch: async () => {
      const deleted = await deleteOfflineAgents(ctx.db, { before, limit: BATCH })
      announceDeletedAgents(ctx, deleted)
      return { deleted: deleted.length, next: deleted.length < BATCH ? undefined : true }
    },
  })
}

export const agentReactions = [reaction(tokensDeleted, async (ctx, { tokenIds }) => endAgentSessions(ctx, tokenIds))]
