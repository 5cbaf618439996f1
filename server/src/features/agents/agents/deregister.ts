import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { raise } from '../../../events/reaction.ts'
import { requireOwnAgent } from './access.ts'
import { announceAgents } from './announce.ts'
import { agentGone } from './events.ts'
import * as store from './store.ts'

/** The agent takes no more jobs; its running jobs keep their leases. */
export async function deregisterAgent(ctx: Ctx, id: string) {
  const agent = await requireOwnAgent(ctx, id)
  await store.markExited(ctx.db, agent.id, ctx.now())
  await announceAgents(ctx, [agent.id])
  // Not in the same transaction: the claims that wait are ended once every new claim sees that the agent is gone.
  await transact(ctx, async (ctx) => raise(ctx, agentGone, { agentId: agent.id }))
}
