import type { RegisterAgent, RegisteredAgent } from '@groundstate/contract/agent'
import manifest from '../../../../package.json' with { type: 'json' }
import type { Ctx, TransactionCtx } from '../../../app.ts'
import type { Actor } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { invalid } from '../../../errors.ts'
import { PLAN_LIMITS } from '../../organizations/organizations/plan-limits.ts'
import { announceAgents } from './announce.ts'
import { onlineSince } from './status.ts'
import * as store from './store.ts'

type AgentActor = Extract<Actor, { kind: 'agent' }>
type PoolAgent = NonNullable<Awaited<ReturnType<typeof store.findPoolAgent>>>
type NewAgent = { id: string | undefined; name: string; ip_address: string | null; agent_pool_id: string }

/**
 * Registers an agent in the pool of its token. An agent that names its id keeps it, to tell of other facts or when it has started
 * again, and so does one that returns under its name after it has gone. Throws `invalid` when the plan of the organization has no
 * room for another agent.
 */
export async function registerAgent(ctx: Ctx, actor: AgentActor, input: RegisterAgent): Promise<RegisteredAgent> {
  const { agentId, starts, engines, downloadsEngines, ...facts } = input
  const agent = {
    ...facts,
    engines: JSON.stringify(engines),
    downloads_engines: downloadsEngines ?? null,
    agent_pool_id: actor.agentPoolId,
    token_id: actor.tokenId,
    ip_address: ctx.request?.address ?? null,
    last_ping_at: ctx.now(),
  }
  const poolId = actor.agentPoolId
  return transact(ctx, async (ctx) => {
    const named = agentId === undefined ? undefined : await store.findPoolAgent(ctx.db, { id: agentId, poolId })
    const registered = named && starts && isOther(named, agent, ctx.now()) ? undefined : named
    if (actor.organizationId !== null) await checkQuota(ctx, actor.organizationId, { ...agent, id: registered?.id })
    const since = onlineSince(ctx.now())
    const known = registered ?? (await store.findGoneAgent(ctx.db, { poolId, name: input.name, since }))
    const id = known?.id ?? ctx.newId('agent')
    if (known) await store.reviveAgent(ctx.db, { id, ...agent })
    else await store.insertAgent(ctx.db, { id, ...agent, created_at: ctx.now() })
    await announceAgents(ctx, [id])
    const poolName = await store.findPoolName(ctx.db, poolId)
    return { agentId: id, poolId, poolName, serverVersion: manifest.version }
  })
}

/** Whether the id of an agent that starts is in use by another: the directory that it has the id from was copied. */
function isOther(known: PoolAgent, { name, ip_address }: Omit<NewAgent, 'id'>, now: Date) {
  const isOnline = known.exited_at === null && known.last_ping_at > onlineSince(now)
  return isOnline && (known.name !== name || known.ip_address !== ip_address)
}

/** Throws `invalid` when the plan has no room for the agent (INTERFACE §6.3). Agents that are gone lose their place to it. */
async function checkQuota(ctx: TransactionCtx, organizationId: string, agent: NewAgent) {
  const organization = await store.findOrganizationPlan(ctx.db, organizationId)
  const limit = organization && PLAN_LIMITS[organization.plan].agents
  if (!organization || typeof limit !== 'number') return
  const now = ctx.now()
  const all = await store.listRegisteredAgents(ctx.db, { organizationId, since: onlineSince(now), now })
  const known = all.filter(({ id }) => id !== agent.id)
  // The same agent, restarted before it was noticed to be gone.
  const isSame = ({ name, ip_address, agent_pool_id }: Omit<NewAgent, 'id'>) =>
    name === agent.name && ip_address === agent.ip_address && agent_pool_id === agent.agent_pool_id
  const present = known.filter((other) => other.is_present && !isSame(other))
  // Its next claim is refused, so that it does not come back as one too many.
  const gone = known.filter((other) => !present.includes(other)).map(({ id }) => id)
  for (const id of gone) await store.markExited(ctx.db, id, ctx.now())
  await announceAgents(ctx, gone)
  if (present.length < limit) return
  const names = present.map(({ name }) => name).join(', ')
  const these = present.length === 1 ? 'this one is' : 'these are'
  throw invalid(
    `the organization ${organization.name} has the ${organization.plan} plan, with at most ${limit} self-hosted agent, and ${these} online already: ${names}`,
  )
}
