import type { Ctx } from '../../../app.ts'
import { conflict, forbidden, notFound } from '../../../errors.ts'
import { hasSecondFactor } from '../sessions/second-factor-store.ts'
import { findUser, type UserRow } from '../users/store.ts'

export type Account = { user: UserRow; hasSecondFactor: boolean }

/** The account behind the actor, a team's included. Throws `not-found` for tokens that act as no user. */
export async function requireAccount(ctx: Ctx): Promise<Account> {
  const user = ctx.actor.kind === 'user' ? await findUser(ctx.db, ctx.actor.userId) : undefined
  if (!user) throw notFound('user')
  return withSecondFactor(ctx, user)
}

export async function withSecondFactor(ctx: Ctx, user: UserRow): Promise<Account> {
  return { user, hasSecondFactor: await hasSecondFactor(ctx.db, user.id) }
}

/** The account of a person. Throws `forbidden` for the account of a team, whose settings its token may not change. */
export async function requirePerson(ctx: Ctx) {
  const { user } = await requireAccount(ctx)
  if (user.is_service_account) throw forbidden(`${user.username} is the account of a team, which has no settings`)
  return user
}

/** As `requirePerson`, for settings that only accounts with a password have. */
export async function requirePasswordAccount(ctx: Ctx) {
  const user = await requirePerson(ctx)
  if (user.password_hash === null) throw conflict(`${user.username} signs in with another service and has no password`)
  return user
}
