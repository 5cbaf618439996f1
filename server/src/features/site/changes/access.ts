import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import type { ChangeStream } from './stream.ts'

/** The organization for whom its changes are told: people, teams and the organization itself. Throws `not-found` for all others. */
export async function requireWatchedOrganization(
  ctx: Ctx,
  name: string,
): Promise<Pick<ChangeStream, 'actor' | 'organizationId'>> {
  const { id } = await requireOrganization(ctx, name, 'organization:read')
  const { actor } = ctx
  if (actor.kind !== 'user' && actor.kind !== 'organization') throw notFound('organization')
  return { actor, organizationId: id }
}
