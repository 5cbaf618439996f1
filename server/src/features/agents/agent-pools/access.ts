import type { Ctx } from '../../../app.ts'
import { readAccessContext } from '../../../auth/access-context.ts'
import { organizationPermissions } from '../../../auth/organization-permissions.ts'
import { type OrganizationPermission, refusal } from '../../../auth/permissions.ts'
import { checkSignInPolicy } from '../../../auth/sign-in-policy.ts'
import { AppError, notFound } from '../../../errors.ts'
import * as store from './store.ts'

export type AgentPool = store.AgentPoolRow & { can: ReadonlySet<OrganizationPermission> }

/** Loads the pool and checks `permission` in its organization in one query; `noun` names the requested resource in errors. */
export async function requireAgentPool(ctx: Ctx, id: string, permission: OrganizationPermission, noun = 'agent pool') {
  const [row] = await store.findAgentPools(ctx.db, ctx.actor, { ids: [id], now: ctx.now() })
  if (!row) throw notFound(noun)
  const { access: column, ...pool } = row
  const access = readAccessContext(ctx.actor, { organizationId: row.organization_key, access: column })
  const can = organizationPermissions(access)
  if (can.has('organization:read')) checkSignInPolicy(access)
  if (!can.has('agent-pools:read')) throw notFound(noun)
  if (!can.has(permission)) throw refusal(permission, `in the organization ${row.organization_name}`)
  return { ...pool, can }
}

/** The pools that the actor may see, for includes. */
export async function listReadableAgentPools(ctx: Ctx, ids: readonly string[]): Promise<AgentPool[]> {
  if (ids.length === 0) return []
  const rows = await store.findAgentPools(ctx.db, ctx.actor, { ids, now: ctx.now() })
  return rows.flatMap(({ access: column, ...pool }) => {
    const access = readAccessContext(ctx.actor, { organizationId: pool.organization_key, access: column })
    const can = organizationPermissions(access)
    return can.has('agent-pools:read') ? { ...pool, can } : []
  })
}

/** Loads a pool whose tokens the actor may manage. Throws `not-found` without the permission (INTERFACE §5.2.1). */
export async function requireTokenPool(ctx: Ctx, poolId: string): Promise<AgentPool> {
  return requireAgentPool(ctx, poolId, 'agent-pools:manage').catch((error: unknown) => {
    if (error instanceof AppError && error.kind === 'forbidden') throw notFound('agent pool')
    throw error
  })
}
