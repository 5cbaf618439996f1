import type { Ctx } from '../../../app.ts'
import { invalid } from '../../../errors.ts'
import * as store from './store.ts'

/** The agent pool. Throws `invalid` at `pointer` unless it belongs to the organization. */
export async function requireOrganizationPool(ctx: Ctx, organizationId: string, poolId: string, pointer?: string) {
  const pool = await store.findOrganizationPool(ctx.db, organizationId, poolId)
  if (!pool) throw noPool(poolId, pointer)
  return pool
}

/** As `requireOrganizationPool`, for a workspace that is to use the pool: throws `invalid` too when its scope leaves that out. */
export async function requirePoolFor(
  ctx: Ctx,
  workspace: { organizationId: string; workspaceId?: string; projectId: string },
  { poolId, pointer }: { poolId: string; pointer?: string },
) {
  const pool = await store.findPoolFor(ctx.db, workspace, poolId)
  if (!pool) throw noPool(poolId, pointer)
  if (!pool.is_open)
    throw invalid(`the agent pool ${pool.name} is not for this workspace: its scope must allow it first`, pointer)
}

function noPool(poolId: string, pointer: string | undefined) {
  // Clients look for these words.
  return invalid(
    `The provided agent pool does not exist or you are not authorized to use it: ${poolId} is no pool of the organization`,
    pointer,
  )
}
