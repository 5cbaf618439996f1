import type { CreateAgentPool, UpdateAgentPool } from '@groundstate/contract/agent-pools'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { readFacts } from '../../../auth/facts.ts'
import { checkDemands, type OrganizationPermission, organizationPermissions } from '../../../auth/permissions.ts'
import { isUniqueViolation, transact } from '../../../db/db.ts'
import { conflict, forbidden, invalid, notFound } from '../../../errors.ts'
import { requireOrganization } from '../../organizations/organizations/service.ts'
import { listReadableProjects } from '../../organizations/projects/service.ts'
import { listReadableWorkspaces } from '../../workspaces/workspaces/service.ts'
import * as store from './store.ts'
import { recordAudit } from '../../../audit/record.ts'
import type { Page } from '../../../db/page.ts'

/** The pool of the agents inside the server; it belongs to no organization, and no request reaches it. */
export const BUILT_IN_POOL_ID = 'apool-builtin'

/** Agents that were heard of this recently count, in ms. */
const SILENCE_MS = 60_000

type Found = NonNullable<Awaited<ReturnType<typeof store.findAgentPool>>>
export type AgentPool = Omit<Found, 'facts'> & { can: ReadonlySet<OrganizationPermission> }

/** Loads the pool and checks `permission` in its organization in one query; `noun` is what the caller asked for. */
export async function requireAgentPool(
  ctx: Ctx,
  id: string,
  permission: OrganizationPermission,
  noun = 'agent pool',
): Promise<AgentPool> {
  const row = await store.findAgentPool(ctx.db, ctx.actor, { id, since: heardSince(ctx) })
  if (!row) throw notFound(noun)
  const { facts: column, ...pool } = row
  const facts = readFacts(ctx.actor, { organizationId: row.organization_key, facts: column })
  const can = organizationPermissions(facts)
  if (can.has('organization:read')) checkDemands(facts)
  if (!can.has('agent-pools:read')) throw notFound(noun)
  if (!can.has(permission))
    throw forbidden(`this needs the permission ${permission} in the organization ${row.organization_name}`)
  return { ...pool, can }
}

/** Those of the pools that the actor may see, for includes. */
export async function listReadableAgentPools(ctx: Ctx, ids: readonly string[]): Promise<AgentPool[]> {
  if (ids.length === 0) return []
  const rows = await store.findAgentPools(ctx.db, ctx.actor, { ids, since: heardSince(ctx) })
  return rows.flatMap(({ facts: column, ...pool }) => {
    const can = organizationPermissions(readFacts(ctx.actor, { organizationId: pool.organization_key, facts: column }))
    return can.has('agent-pools:read') ? { ...pool, can } : []
  })
}

function heardSince(ctx: Ctx) {
  return new Date(ctx.now().getTime() - SILENCE_MS)
}

export async function listAgentPools(
  ctx: Ctx,
  organizationName: string,
  { page, filter }: { page: Page; filter: store.PoolFilter },
) {
  const organization = await requireOrganization(ctx, organizationName, 'agent-pools:read')
  const list = await store.listAgentPools(ctx.db, ctx.actor, {
    organizationId: organization.id,
    page,
    since: heardSince(ctx),
    filter,
  })
  return { rows: list.rows.map((row) => ({ ...row, can: organization.can })), total: list.total }
}

export async function createAgentPool(ctx: Ctx, organizationName: string, input: CreateAgentPool): Promise<AgentPool> {
  const organization = await requireOrganization(ctx, organizationName, 'agent-pools:manage')
  const id = ctx.newId('apool')
  return unique(input.attributes.name, () =>
    transact(ctx, async (ctx) => {
      await store.insertAgentPool(ctx.db, {
        id,
        organization_id: organization.id,
        name: input.attributes.name,
        organization_scoped: input.attributes['organization-scoped'] ?? true,
        created_at: ctx.now(),
      })
      await replaceScope(ctx, { id, organizationId: organization.id }, input.relationships)
      await recordAudit(ctx, {
        organizationId: organization.id,
        action: 'create',
        resource: { type: 'agent_pool', id },
        meta: { name: input.attributes.name },
      })
      return requireAgentPool(ctx, id, 'agent-pools:read')
    }),
  )
}

export async function updateAgentPool(ctx: Ctx, id: string, input: UpdateAgentPool): Promise<AgentPool> {
  const pool = await requireAgentPool(ctx, id, 'agent-pools:manage')
  const { name, 'organization-scoped': scoped } = input.attributes
  return unique(name ?? pool.name, () =>
    transact(ctx, async (ctx) => {
      const changes = {
        ...(name !== undefined && { name }),
        ...(typeof scoped === 'boolean' && { organization_scoped: scoped }),
      }
      if (Object.keys(changes).length > 0) await store.updateAgentPool(ctx.db, id, changes)
      await replaceScope(ctx, { id, organizationId: pool.organization_key }, input.relationships)
      await recordAudit(ctx, {
        organizationId: pool.organization_key,
        action: 'update',
        resource: { type: 'agent_pool', id },
        meta: { name: pool.name, changes: { ...input.attributes, ...input.relationships } },
      })
      return requireAgentPool(ctx, id, 'agent-pools:read')
    }),
  )
}

/** Throws `conflict` while something depends on the pool: its runs would wait for ever. */
export async function deleteAgentPool(ctx: Ctx, id: string) {
  const pool = await requireAgentPool(ctx, id, 'agent-pools:manage')
  await transact(ctx, async (ctx) => {
    const users = await store.listUsers(ctx.db, ctx.actor, id)
    if (users.length > 0) throw conflict(`the agent pool ${pool.name} is used by ${users.join(', ')}`)
    await store.deleteAgentPool(ctx.db, id)
    await recordAudit(ctx, {
      organizationId: pool.organization_key,
      action: 'destroy',
      resource: { type: 'agent_pool', id },
      meta: { name: pool.name },
    })
  })
}

type Relations = UpdateAgentPool['relationships']

async function replaceScope(
  ctx: TransactionCtx,
  pool: { id: string; organizationId: string },
  { 'allowed-workspaces': allowed, 'excluded-workspaces': excluded, 'allowed-projects': projects }: Relations,
) {
  const rules = [
    { rule: 'allowed', relation: allowed },
    { rule: 'excluded', relation: excluded },
  ] as const
  for (const { rule, relation } of rules) {
    if (!relation) continue
    const ids = relation.data.map((workspace) => workspace.id)
    const known = await listReadableWorkspaces(ctx, ids)
    requireAll(ids, known, { organizationId: pool.organizationId, noun: 'workspace', relation: `${rule}-workspaces` })
    await store.replaceWorkspaces(ctx.db, ctx.actor, { poolId: pool.id, rule, ids })
  }
  if (projects) {
    const ids = projects.data.map((project) => project.id)
    const known = await listReadableProjects(ctx, ids)
    requireAll(ids, known, { organizationId: pool.organizationId, noun: 'project', relation: 'allowed-projects' })
    await store.replaceProjects(ctx.db, ctx.actor, { poolId: pool.id, ids })
  }
}

/** What the caller may not see is answered as what does not exist. */
function requireAll(
  ids: readonly string[],
  known: readonly { id: string; organization_id: string }[],
  { organizationId, noun, relation }: { organizationId: string; noun: string; relation: string },
) {
  const found = new Set(known.filter((row) => row.organization_id === organizationId).map((row) => row.id))
  const missing = ids.find((id) => !found.has(id))
  if (missing !== undefined)
    throw invalid(`the organization has no ${noun} ${missing}`, `/data/relationships/${relation}`)
}

async function unique<T>(name: string, work: () => Promise<T>) {
  try {
    return await work()
  } catch (error) {
    if (isUniqueViolation(error, 'agent_pools_name_key'))
      throw invalid(`Name has already been taken: there is an agent pool ${name}`, '/data/attributes/name')
    throw error
  }
}
