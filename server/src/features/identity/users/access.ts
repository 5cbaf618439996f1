import type { Ctx } from '../../../app.ts'
import { type UserActor, userActor } from '../../../auth/actor.ts'
import { notFound } from '../../../errors.ts'
import * as store from './store.ts'

/** A user is visible to themself, to actors of a common organization and site administrators; the account of runs to all of these. */
export async function requireUser(ctx: Ctx, id: string) {
  const user = await store.findVisibleUser(ctx.db, ctx.actor, id)
  if (!user) throw notFound('user')
  return user
}

/** The user as an actor, for work on their behalf; undefined for a deleted or suspended user. */
export async function findUserActor(ctx: Ctx, id: string): Promise<UserActor | undefined> {
  const user = await store.findUser(ctx.db, id)
  return !user || user.suspended_at ? undefined : userActor(user)
}
