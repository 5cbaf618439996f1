import type { Ctx } from '../../../app.ts'
import { conflict, forbidden, notFound } from '../../../errors.ts'
import { hasTwoFactor } from '../sessions/two-factor-store.ts'
import { type UserRow, findUser } from '../users/store.ts'

export type Account = { user: UserRow; hasTwoFactor: boolean }

/** The account behind the actor, a team's included. Throws `not-found` for tokens that act as no user. */
export async function requireAccount(ctx: Ctx): Promise<Account> {
  const user = ctx.actor.kind === 'user' ? await findUser(ctx.db, ctx.actor.userId) : undefined
  if (!user) throw notFound('user')
  return withTwoFactor(ctx, user)
}

export async function withTwoFactor(ctx: Ctx, user: UserRow): Promise<Account> {
  return { user, hasTwoFactor: await hasTwoFactor(ctx.db, user.id) }
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
