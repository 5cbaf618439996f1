import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import { type PolicyOwner, requirePolicyOwner } from './access.ts'
import type { DataRetentionPolicy } from './resource.ts'
import { findPolicy } from './store.ts'

/** The policy that is set on the resource itself, not an inherited one. Throws `not-found` when there is none. */
export async function showDataRetentionPolicy(ctx: Ctx, owner: PolicyOwner): Promise<DataRetentionPolicy> {
  const { key, target } = await requirePolicyOwner(ctx, owner, 'read')
  const row = await findPolicy(ctx.db, key)
  if (!row) throw notFound('data retention policy')
  return { ...row, target }
}
