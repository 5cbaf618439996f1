import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { preconditionFailed } from '../../../errors.ts'
import { raise } from '../../../events/reaction.ts'
import { requireAgent } from './access.ts'
import { agentGone } from './events.ts'
import { agentStatus } from './status.ts'
import * as store from './store.ts'

/** Throws `precondition-failed` for an agent that may still work. */
export async function deleteAgent(ctx: Ctx, id: string) {
  const { agent, pool } = await requireAgent(ctx, id, 'agent-pools:manage')
  const status = agentStatus(agent, ctx.now())
  if (status === 'idle' || status === 'busy')
    throw preconditionFailed(`the agent ${agent.name} is ${status}: it must be exited, errored or unknown`)
  const event = {
    organizationId: pool.organization_key,
    action: 'destroy',
    resource: { type: 'agent', id },
    meta: { name: agent.name, agent_pool: pool.id },
    notices: [{ type: 'agents' as const, id, pool: pool.id }],
  }
  await audited(ctx, event, async (ctx) => store.deleteAgent(ctx.db, id))
  // After the commit: the claims that wait are ended once every new claim sees that the agent is gone.
  await transact(ctx, async (ctx) => raise(ctx, agentGone, { agentId: id }))
}
