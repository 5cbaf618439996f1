import type { CreateAgentPool, UpdateAgentPool } from '@groundstate/contract/agent-pools'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { type AuditEvent, audited, recordAudit } from '../../../audit/record.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { type Page, isForeignKeyViolation, rejectTakenName, transact } from '../../../db/db.ts'
import { conflict, invalid } from '../../../errors.ts'
import { domainEvent, raise } from '../../../events.ts'
import { type IssuedToken, issueToken } from '../../identity/tokens/service.ts'
import { tokensDeleted } from '../../identity/tokens/store.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { listReadableProjects } from '../../organizations/projects/access.ts'
import { listReadableWorkspaces } from '../../workspaces/workspaces/access.ts'
import { type AgentPool, requireAgentPool, requireTokenPool } from './access.ts'
import * as store from './store.ts'

export async function createAgentPool(ctx: Ctx, organization: { id: string }, input: CreateAgentPool) {
  const { attributes, relationships } = input
  const { name, 'organization-scoped': scoped, 'max-concurrent-jobs': limit } = attributes
  const pool = { id: ctx.newId('apool'), organizationId: organization.id }
  return withUniqueName(name, () =>
    transact(ctx, async (ctx) => {
      await store.insertAgentPool(ctx.db, {
        id: pool.id,
        organization_id: pool.organizationId,
        name,
        organization_scoped: scoped ?? true,
        max_concurrent_jobs: limit ?? null,
        created_at: ctx.now(),
      })
      await replacePoolScope(ctx, pool, relationships)
      await recordAudit(ctx, agentPoolAudit(pool, 'create', { name, changes: { ...attributes, ...relationships } }))
      return requireAgentPool(ctx, pool.id, 'agent-pools:read')
    }),
  )
}

export async function listAgentPools(
  ctx: Ctx,
  organizationName: string,
  input: { page: Page; filter: store.PoolFilter },
) {
  const { id: organizationId } = await requireOrganization(ctx, organizationName, 'agent-pools:read')
  return store.listAgentPools(ctx.db, ctx.actor, { organizationId, now: ctx.now(), ...input })
}

export async function updateAgentPool(ctx: Ctx, pool: AgentPool, { attributes, relationships }: UpdateAgentPool) {
  const { name, 'organization-scoped': scoped, 'max-concurrent-jobs': limit } = attributes
  const changes = {
    ...(name !== undefined && { name }),
    ...(typeof scoped === 'boolean' && { organization_scoped: scoped }),
    ...(limit !== undefined && { max_concurrent_jobs: limit }),
  }
  const key = { id: pool.id, organizationId: pool.organization_key }
  return withUniqueName(name ?? pool.name, () =>
    transact(ctx, async (ctx) => {
      if (Object.keys(changes).length > 0) await store.updateAgentPool(ctx.db, pool.id, changes)
      if (limit !== undefined) await raise(ctx, poolLimitChanged, { poolId: pool.id })
      await replacePoolScope(ctx, key, relationships)
      const meta = { name: pool.name, changes: { ...attributes, ...relationships } }
      await recordAudit(ctx, {
        ...agentPoolAudit(key, 'update', meta),
        settings: { before: pool, columns: changes },
      })
      return requireAgentPool(ctx, pool.id, 'agent-pools:read')
    }),
  )
}

type PoolKey = { id: string; organizationId: string }

/** Replaces the allowed and excluded workspaces and the allowed projects that the relationships name. */
async function replacePoolScope(ctx: TransactionCtx, pool: PoolKey, relationships: UpdateAgentPool['relationships']) {
  for (const rule of ['allowed', 'excluded'] as const) {
    const ids = relationships[`${rule}-workspaces`]?.data.map((workspace) => workspace.id)
    if (!ids) continue
    const readable = await listReadableWorkspaces(ctx, ids)
    checkAll(ids, readable, { pool, noun: 'workspace', relation: `${rule}-workspaces` })
    await store.replaceWorkspaces(ctx.db, ctx.actor, { poolId: pool.id, rule, ids })
  }
  const ids = relationships['allowed-projects']?.data.map((project) => project.id)
  if (!ids) return
  const readable = await listReadableProjects(ctx, ids)
  checkAll(ids, readable, { pool, noun: 'project', relation: 'allowed-projects' })
  await store.replaceProjects(ctx.db, ctx.actor, pool.id, ids)
}

/** Throws `invalid` for an id outside the pool's organization, or one that the caller may not see. */
function checkAll(
  ids: readonly string[],
  readable: readonly { id: string; organization_id: string }[],
  { pool, noun, relation }: { pool: PoolKey; noun: string; relation: string },
) {
  const own = new Set(readable.filter((row) => row.organization_id === pool.organizationId).map((row) => row.id))
  const missing = ids.find((id) => !own.has(id))
  if (missing !== undefined)
    throw invalid(`the organization has no ${noun} ${missing}`, `/data/relationships/${relation}`)
}

async function withUniqueName<T>(name: string, work: () => Promise<T>): Promise<T> {
  const detail = `Name has already been taken: there is an agent pool ${name}`
  return rejectTakenName({ constraint: 'agent_pools_name_key', detail }, work)
}

/** Deletes a pool. Throws `conflict` while it is in use, as runs would wait for its agents forever. */
export async function deleteAgentPool(ctx: Ctx, id: string) {
  const pool = await requireAgentPool(ctx, id, 'agent-pools:manage')
  const event = agentPoolAudit({ id, organizationId: pool.organization_key }, 'destroy', { name: pool.name })
  try {
    await audited(ctx, event, async (ctx) => {
      const usage = await store.listPoolUsage(ctx.db, ctx.actor, id)
      if (usage.length > 0) throw conflict(`the agent pool ${pool.name} is used by ${describeUsage(usage)}`)
      await raise(ctx, tokensDeleted, { tokenIds: await store.listTokenIds(ctx.db, id) })
      await store.deleteAgentPool(ctx.db, id)
    })
  } catch (error) {
    if (!isForeignKeyViolation(error)) throw error
    throw conflict(`the agent pool ${pool.name} is now in use`)
  }
}

/** `the workspaces a, b and 3 more, and the run task scan` */
function describeUsage(usage: readonly store.PoolUsage[]) {
  const parts = usage.flatMap(({ kind, names, seen, hidden }) => {
    const more = seen > names.length ? ` and ${seen - names.length} more` : ''
    const visible = `the ${kind}${seen === 1 ? '' : 's'} ${names.join(', ')}${more}`
    const invisible = `${hidden === 1 ? `a ${kind}` : `${hidden} ${kind}s`} that you may not see`
    return [...(seen > 0 ? [visible] : []), ...(hidden > 0 ? [invisible] : [])]
  })
  return parts.join(', and ')
}

/** Idle time after which a built-in agent's token is deleted, in ms. */
const IDLE_MS = 7 * 24 * 3_600_000

export async function createAgentToken(ctx: Ctx, pool: AgentPool, description: string): Promise<IssuedToken> {
  // An organization token has no user; it acts as the owners team's service account.
  const createdBy = actorUserId(ctx.actor) ?? (await store.findOwnersAccount(ctx.db, pool.organization_key)) ?? null
  const owner = { agent_pool_id: pool.id, organization_id: pool.organization_key, created_by_user_id: createdBy }
  return issueToken(ctx, { kind: 'agent', ...owner }, { description })
}

/** Creates the token of this process's built-in agent at startup, and deletes idle ones of earlier processes. */
export async function createBuiltInAgentToken(ctx: Ctx): Promise<string> {
  const before = new Date(ctx.now().getTime() - IDLE_MS)
  await store.deleteIdleBuiltInTokens(ctx.db, { poolId: store.BUILT_IN_POOL_ID, before })
  const subject = { kind: 'agent', agent_pool_id: store.BUILT_IN_POOL_ID } as const
  const { text } = await issueToken(ctx, subject, { description: 'built-in agent' })
  return text
}

export async function listAgentTokens(ctx: Ctx, poolId: string, page: Page) {
  const pool = await requireTokenPool(ctx, poolId)
  return store.listTokens(ctx.db, pool.id, page)
}

function agentPoolAudit(pool: PoolKey, action: AuditEvent['action'], meta: AuditEvent['meta']): AuditEvent {
  const { id, organizationId } = pool
  return { organizationId, action, resource: { type: 'agent_pool', id }, meta, notices: [{ type: 'agent-pools', id }] }
}

/** Raised in the transaction that sets or removes a pool's limit on concurrent jobs. */
export const poolLimitChanged = domainEvent<{ poolId: string }>('agent-pool.limit-changed')
