import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import { findUser } from '../users/store.ts'

/**
 * Checks that the actor may see and create the API tokens of a user: the user themself, but not by the token of a team,
 * or a site administrator. Throws `not-found` otherwise, as for a user who does not exist.
 */
export async function requireTokenOwner(ctx: Ctx, userId: string) {
  const { actor } = ctx
  const isAllowed =
    actor.kind === 'system' ||
    (actor.kind === 'user' && actor.teamId === undefined && (actor.userId === userId || actor.isSiteAdmin))
  const user = isAllowed ? await findUser(ctx.db, userId) : undefined
  // The account of a team has the tokens of its team, which other rules apply to.
  if (!user || user.is_service_account) throw notFound('user')
  return user
}
