import { VERSION } from '@groundstate/agent/build'
import type { RegisterAgent, RegisteredAgent } from '@groundstate/contract/agent'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import type { Actor } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { invalid, preconditionFailed, unauthorized } from '../../../errors.ts'
import { raise } from '../../../events.ts'
import { PLAN_LIMITS } from '../../organizations/organizations/quotas.ts'
import { listReadableWorkspaces } from '../../workspaces/workspaces/access.ts'
import { requireAgentPool } from '../agent-pools/access.ts'
import { onlineSince } from '../agent-pools/store.ts'
import { requireAgent, requireOwnAgent } from './access.ts'
import { agentRemoved, announceAgents } from './announce.ts'
import * as store from './store.ts'

type AgentActor = Extract<Actor, { kind: 'agent' }>
type PoolAgent = NonNullable<Awaited<ReturnType<typeof store.findPoolAgent>>>
type NewAgent = { id: string | undefined; name: string; ip_address: string | null; agent_pool_id: string }

/**
 * Registers an agent. It keeps the id that it sends, or, unless it is built in, that of its name if offline. Throws `invalid` if the plan allows no
 * further agent.
 */
export async function registerAgent(ctx: Ctx, actor: AgentActor, input: RegisterAgent): Promise<RegisteredAgent> {
  const { agentId, starts, formerTokenId, engines, downloadsEngines, ...attributes } = input
  const agent = {
    ...attributes,
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
    const isBuiltIn = actor.organizationId === null
    const isOfAnother = isBuiltIn ? isOfAnotherServer : isOfAnotherDirectory
    const isTaken = named && isOnline(named, ctx.now()) && isOfAnother(named, { ...agent, starts, formerTokenId })
    const registered = isTaken ? undefined : named
    if (actor.organizationId !== null) await checkQuota(ctx, actor.organizationId, { ...agent, id: registered?.id })
    const since = onlineSince(ctx.now())
    const offline = isBuiltIn ? undefined : { poolId, name: input.name, since }
    const known = registered ?? (offline && (await store.findOfflineAgent(ctx.db, offline)))
    const id = known?.id ?? ctx.newId('agent')
    if (known) await store.reviveAgent(ctx.db, { id, ...agent })
    else await store.insertAgent(ctx.db, { id, ...agent, created_at: ctx.now() })
    await announceAgents(ctx, [id])
    const poolName = await store.findPoolName(ctx.db, poolId)
    return { agentId: id, poolId, poolName, serverVersion: VERSION, tokenId: actor.tokenId }
  })
}

function isOnline({ exited_at, last_ping_at }: PoolAgent, now: Date) {
  return exited_at === null && last_ping_at > onlineSince(now)
}

type Registering = Pick<NewAgent, 'name' | 'ip_address'> &
  Pick<RegisterAgent, 'starts' | 'formerTokenId'> & { token_id: string }

/** Whether a starting agent's id is that of another agent, because the work directory that holds it was copied. */
function isOfAnotherDirectory(known: PoolAgent, { starts, name, ip_address }: Registering) {
  return starts && (known.name !== name || known.ip_address !== ip_address)
}

/** As `isOfAnotherDirectory`. Built-in agents have one name and address, but each process of a server has a token. */
function isOfAnotherServer({ token_id: used }: PoolAgent, { token_id, formerTokenId }: Registering) {
  return used !== token_id && used !== formerTokenId
}

/** Throws `invalid` if the plan allows no further agent (INTERFACE §6.3). Offline agents give up their place. */
async function checkQuota(ctx: TransactionCtx, organizationId: string, agent: NewAgent) {
  const organization = await store.findOrganizationPlan(ctx.db, organizationId)
  const limit = organization && PLAN_LIMITS[organization.plan].agents
  if (!organization || typeof limit !== 'number') return
  const now = ctx.now()
  const all = await store.listRegisteredAgents(ctx.db, { organizationId, since: onlineSince(now), now })
  const known = all.filter(({ id }) => id !== agent.id)
  // The same agent, restarted before it counted as offline.
  const isSame = ({ name, ip_address, agent_pool_id }: Omit<NewAgent, 'id'>) =>
    name === agent.name && ip_address === agent.ip_address && agent_pool_id === agent.agent_pool_id
  const present = known.filter((other) => other.is_present && !isSame(other))
  // Marked as exited, so that their next claim is refused and they cannot exceed the quota.
  const exited = known.filter((other) => !present.includes(other)).map(({ id }) => id)
  for (const id of exited) await store.markExited(ctx.db, id, ctx.now())
  await announceAgents(ctx, exited)
  if (present.length < limit) return
  const names = present.map(({ name }) => name).join(', ')
  const subject = present.length === 1 ? 'this one is' : 'these are'
  throw invalid(
    `the organization ${organization.name} has the ${organization.plan} plan, with at most ${limit} self-hosted agent, and ${subject} already online: ${names}`,
  )
}

export async function listAgents(ctx: Ctx, poolId: string, input: store.AgentListInput) {
  const pool = await requireAgentPool(ctx, poolId, 'agent-pools:read')
  return store.listAgents(ctx.db, { poolId: pool.id, now: ctx.now(), ...input })
}

/** The running jobs of agents, by agent id. `run_id` is null for actors who may not read the run. */
export async function listCurrentJobs(ctx: Ctx, agentIds: readonly string[]) {
  const jobs = await store.listCurrentJobs(ctx.db, { agentIds, now: ctx.now() })
  const workspaces = await listReadableWorkspaces(ctx, [...new Set(jobs.map(({ workspace_id }) => workspace_id))])
  const readable = new Set(workspaces.filter(({ can }) => can.has('runs:read')).map(({ id }) => id))
  const shown = jobs.flatMap(({ agent_id, kind, run_id, leased_at, workspace_id }) =>
    agent_id === null || leased_at === null
      ? []
      : { agent_id, kind, run_id: readable.has(workspace_id) ? run_id : null, leased_at },
  )
  return Map.groupBy(shown, ({ agent_id }) => agent_id)
}

/** Deletes an agent. Throws `precondition-failed` while it may still be running jobs. */
export async function deleteAgent(ctx: Ctx, id: string) {
  const { agent, pool } = await requireAgent(ctx, id, 'agent-pools:manage')
  const { status } = agent
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
  // After the commit, so that new claims are refused when the waiting ones end.
  await transact(ctx, async (ctx) => raise(ctx, agentRemoved, { agentId: id }))
}

/** Deregisters an agent: it gets no more jobs, and its running jobs keep their leases. */
export async function deregisterAgent(ctx: Ctx, id: string) {
  const agent = await requireOwnAgent(ctx, id)
  await store.markExited(ctx.db, agent.id, ctx.now())
  await announceAgents(ctx, [agent.id])
  // In a second transaction, so that new claims are refused when the waiting ones end.
  await transact(ctx, async (ctx) => raise(ctx, agentRemoved, { agentId: agent.id }))
}

/** Makes the agents of deleted tokens exit and their pending claims return. Running jobs have separate tokens and finish. */
export async function endAgentSessions(ctx: TransactionCtx, tokenIds: readonly string[]) {
  await announceAgents(ctx, await store.markTokensExited(ctx.db, tokenIds, ctx.now()))
  for (const id of tokenIds) ctx.signals.publish(ctx.db, tokenTopic(id))
}

function tokenTopic(tokenId: string) {
  return `agent-token:${tokenId}`
}

/** Margin beyond the long poll before the revocation watch ends, in ms. */
const CLAIM_MARGIN_MS = 10_000

/** Runs a long poll until its client disconnects or its token is revoked on any replica; the latter throws `unauthorized`. */
export async function waitUnlessRevoked<T>(
  ctx: Ctx,
  { waitMs, client }: { waitMs: number; client: AbortSignal },
  wait: (signal: AbortSignal) => Promise<T | undefined>,
): Promise<T | undefined> {
  const revoked = new AbortController()
  const responded = new AbortController()
  const tokenId = ctx.actor.kind === 'agent' ? ctx.actor.tokenId : ''
  void ctx.signals
    .wait(tokenTopic(tokenId), { timeoutMs: waitMs + CLAIM_MARGIN_MS, signal: responded.signal })
    .then((isRevoked) => isRevoked && revoked.abort())
  const work = await wait(AbortSignal.any([client, revoked.signal])).finally(() => responded.abort())
  // Work that was claimed before the revocation stays with the agent.
  if (work === undefined && revoked.signal.aborted) throw unauthorized('the token of this agent was revoked')
  return work
}
