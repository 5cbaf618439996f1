import type { Ctx } from '../../../app.ts'
import type { OrganizationPermission } from '../../../auth/permissions.ts'
import { conflict, notFound, unauthorized } from '../../../errors.ts'
import { requireAgentPool } from '../agent-pools/access.ts'
import { recordHeartbeat } from './announce.ts'
import * as store from './store.ts'

/** Minimum interval between stored heartbeats of an agent, in ms. */
const PING_INTERVAL_MS = 10_000

/** Loads an agent and checks `permission` in the organization of its pool. */
export async function requireAgent(ctx: Ctx, id: string, permission: OrganizationPermission) {
  const agent = await store.findAgent(ctx.db, id, ctx.now())
  if (!agent) throw notFound('agent')
  const pool = await requireAgentPool(ctx, agent.agent_pool_id, permission, 'agent')
  return { agent, pool }
}

/** The actor of a request with an agent token. Throws `unauthorized` for others. */
export function requireAgentActor(ctx: Ctx) {
  if (ctx.actor.kind === 'agent') return ctx.actor
  throw unauthorized('an agent token is required')
}

/** Loads an agent of the token's pool. */
export async function requireOwnAgent(ctx: Ctx, id: string) {
  const actor = requireAgentActor(ctx)
  const agent = await store.findAgent(ctx.db, id, ctx.now())
  if (agent?.agent_pool_id !== actor.agentPoolId) throw notFound('agent')
  return agent
}

/** Loads the agent that claims work, and records its heartbeat. Throws `conflict` if it has exited. */
export async function requireClaimingAgent(ctx: Ctx, id: string) {
  const actor = requireAgentActor(ctx)
  const agent = await store.findClaimingAgent(ctx.db, { id, poolId: actor.agentPoolId })
  if (!agent) throw notFound('agent')
  if (agent.exited_at !== null)
    throw conflict(`the agent ${agent.name} is deregistered or was replaced; register it again`)
  const now = ctx.now()
  if (now.getTime() - agent.last_ping_at.getTime() >= PING_INTERVAL_MS) await recordHeartbeat(ctx, id)
  return agent
}
