import type { z } from 'zod'
import type { RegisteredAgent, registerAgentBody } from '@groundstate/contract/agent'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { conflict, invalid, notFound, preconditionFailed, unauthorized } from '../../../errors.ts'
import { requireAgentPool } from '../agent-pools/service.ts'
import { endClaims } from '../../runs/agent-jobs/waiting-claims.ts'
import { agentStatus, SILENCE_MS } from './status.ts'
import * as store from './store.ts'
import { audited } from '../../../audit/record.ts'
import type { Page } from '../../../db/page.ts'

/** The free plan has this many self-hosted agents (INTERFACE §6.3). */
const FREE_AGENTS = 1
const PING_INTERVAL_MS = 10_000

function requireAgentActor(ctx: Ctx) {
  if (ctx.actor.kind === 'agent') return ctx.actor
  throw unauthorized('this takes the token of an agent')
}

/**
 * Makes the caller known as an agent of its token's pool. An agent that comes back after it has gone keeps its id. Throws
 * `invalid` when the plan has no room for one more.
 */
export async function registerAgent(ctx: Ctx, input: z.infer<typeof registerAgentBody>): Promise<RegisteredAgent> {
  const actor = requireAgentActor(ctx)
  const since = new Date(ctx.now().getTime() - SILENCE_MS)
  const facts = {
    ...input,
    agent_pool_id: actor.agentPoolId,
    ip_address: ctx.request?.address ?? null,
    last_ping_at: ctx.now(),
  }
  return transact(ctx, async (ctx) => {
    if (actor.organizationId !== null) await checkQuota(ctx, { organizationId: actor.organizationId, facts, since })
    const known = await store.findGoneAgent(ctx.db, { poolId: actor.agentPoolId, name: input.name, since })
    const id = known?.id ?? ctx.newId('agent')
    if (known) await store.reviveAgent(ctx.db, { id, ...facts })
    else await store.insertAgent(ctx.db, { id, ...facts, created_at: ctx.now() })
    return { agentId: id, poolId: actor.agentPoolId }
  })
}

type NewAgent = { name: string; ip_address: string | null; agent_pool_id: string }

async function checkQuota(
  ctx: TransactionCtx,
  { organizationId, facts, since }: { organizationId: string; facts: NewAgent; since: Date },
) {
  const organization = await ctx.db
    .selectFrom('organizations')
    .select(['name', 'plan'])
    .where('id', '=', organizationId)
    .executeTakeFirst()
  if (organization?.plan !== 'free') return
  const alive = await store.listAliveAgents(ctx.db, { organizationId, since })
  // The same one, started anew before anybody noticed that it was gone.
  const replaced = alive.filter(
    (agent) =>
      agent.name === facts.name && agent.ip_address === facts.ip_address && agent.agent_pool_id === facts.agent_pool_id,
  )
  for (const agent of replaced) await store.markExited(ctx.db, agent.id, ctx.now())
  if (alive.length - replaced.length < FREE_AGENTS) return
  const names = alive.map((agent) => agent.name).join(', ')
  throw invalid(
    `the organization ${organization.name} has the free plan, with ${FREE_AGENTS} self-hosted agent: ${names} is online`,
  )
}

/** The agent of that id, of the pool of the caller's token, which has just been heard of. */
export async function requireAgent(ctx: Ctx, id: string) {
  const actor = requireAgentActor(ctx)
  const agent = await ctx.db
    .selectFrom('agents')
    .select(['id', 'name', 'agent_pool_id', 'last_ping_at', 'exited_at'])
    .where('id', '=', id)
    .where('agent_pool_id', '=', actor.agentPoolId)
    .executeTakeFirst()
  if (!agent) throw notFound('agent')
  if (agent.exited_at !== null)
    throw conflict(`the agent ${agent.name} has said goodbye, or was replaced: register it again`)
  const now = ctx.now()
  if (now.getTime() - agent.last_ping_at.getTime() >= PING_INTERVAL_MS) await store.touchAgent(ctx.db, id, now)
  return agent
}

/** The agent takes no more jobs; those that it has keep their leases. */
export async function deregisterAgent(ctx: Ctx, id: string) {
  const actor = requireAgentActor(ctx)
  const agent = await store.findAgent(ctx.db, id)
  if (agent?.agent_pool_id !== actor.agentPoolId) throw notFound('agent')
  await store.markExited(ctx.db, id, ctx.now())
  endClaims(ctx, id)
}

export async function listAgents(
  ctx: Ctx,
  poolId: string,
  input: { page: Page; since: Date | undefined; sort: { name: 'name' | 'created-at'; descending: boolean } },
) {
  const pool = await requireAgentPool(ctx, poolId, 'agent-pools:read')
  return store.listAgents(ctx.db, { poolId: pool.id, ...input })
}

export async function showAgent(ctx: Ctx, id: string) {
  const agent = await store.findAgent(ctx.db, id)
  if (!agent) throw notFound('agent')
  await requireAgentPool(ctx, agent.agent_pool_id, 'agent-pools:read', 'agent')
  return agent
}

/** Forgets an agent that has gone. Throws `precondition-failed` for one that may still work. */
export async function deleteAgent(ctx: Ctx, id: string) {
  const agent = await showAgent(ctx, id)
  const pool = await requireAgentPool(ctx, agent.agent_pool_id, 'agent-pools:manage', 'agent')
  const status = agentStatus(agent, ctx.now())
  if (status === 'idle' || status === 'busy')
    throw preconditionFailed(`the agent ${agent.name} is ${status}: it must be exited, errored or unknown`)
  const event = {
    organizationId: pool.organization_key,
    action: 'destroy',
    resource: { type: 'agent', id },
    meta: { name: agent.name, agent_pool: pool.id },
  }
  await audited(ctx, event, (ctx) => store.deleteAgent(ctx.db, id))
}
