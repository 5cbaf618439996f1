import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import { requireStateVersion } from '../state-versions/access.ts'
import { isOwner } from '../state-versions/resource.ts'

/**
 * The version, for the actions on its backing data: they are for owners, and for the self-managed edition (INTERFACE §4.9.5).
 * Throws `not-found` for everyone else.
 */
export async function requireOwnedStateVersion(ctx: Ctx, id: string) {
  if (ctx.config.edition === 'hosted') throw notFound('state version')
  const found = await requireStateVersion(ctx, id)
  if (!isOwner(found.access)) throw notFound('state version')
  return found
}
