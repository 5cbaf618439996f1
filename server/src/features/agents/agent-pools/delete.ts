import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { isForeignKeyViolation } from '../../../db/db.ts'
import { conflict } from '../../../errors.ts'
import { endAgentSessions } from '../agents/end-sessions.ts'
import { requireAgentPool } from './access.ts'
import { agentPoolAudit } from './audit.ts'
import * as store from './store.ts'
import { listTokenIds } from './token-store.ts'
import { describeUsage } from './usage.ts'

/** Throws `conflict` while the pool is in use: runs would wait for its agents for ever. */
export async function deleteAgentPool(ctx: Ctx, id: string) {
  const pool = await requireAgentPool(ctx, id, 'agent-pools:manage')
  const event = agentPoolAudit({ id, organizationId: pool.organization_key }, 'destroy', { name: pool.name })
  try {
    await audited(ctx, event, async (ctx) => {
      const usage = await store.listPoolUsage(ctx.db, ctx.actor, id)
      if (usage.length > 0) throw conflict(`the agent pool ${pool.name} is used by ${describeUsage(usage)}`)
      await endAgentSessions(ctx, await listTokenIds(ctx.db, id))
      await store.deleteAgentPool(ctx.db, id)
    })
  } catch (error) {
    if (!isForeignKeyViolation(error)) throw error
    throw conflict(`the agent pool ${pool.name} has just come into use`)
  }
}
