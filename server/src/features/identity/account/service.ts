import type { ChangePassword, ConfirmTwoFactor, UpdateAccount } from '@groundstate/contract/users'
import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { conflict, forbidden, invalid, notFound } from '../../../errors.ts'
import { hashPassword } from '../../../secrets/passwords.ts'
import { endSession, endSessions, listSessions } from '../sessions/service.ts'
import { updateUser, userAudit } from '../users/service.ts'
import { audited, recordAudit } from '../../../audit/record.ts'
import { checkOwnPassword, recordFailedSignIn, takeCode } from '../sessions/methods.ts'
import {
  enrollSecondFactor,
  removeSecondFactor,
  replaceRecoveryCodes,
  verifySecondFactor,
} from '../sessions/second-factor.ts'
import { hasSecondFactor } from '../sessions/second-factor-store.ts'
import { findUser, findUserByLogin, type UserRow } from '../users/store.ts'

export type Account = { user: UserRow; hasSecondFactor: boolean }

/** The account behind the actor, a team's included. Throws `not-found` for tokens that act as no user. */
export async function showAccount(ctx: Ctx): Promise<Account> {
  const user = ctx.actor.kind === 'user' ? await findUser(ctx.db, ctx.actor.userId) : undefined
  if (!user) throw notFound('user')
  return { user, hasSecondFactor: await hasSecondFactor(ctx.db, user.id) }
}

/** The account of a person: what a team's token may not do to its own account. */
async function requirePerson(ctx: Ctx) {
  const { user } = await showAccount(ctx)
  if (user.is_service_account) throw forbidden(`${user.username} is the account of a team, which has no settings`)
  return user
}

/** As `requirePerson`, for what only accounts with a password have. */
async function requirePasswordAccount(ctx: Ctx) {
  const user = await requirePerson(ctx)
  if (user.password_hash === null) throw conflict(`${user.username} signs in with another service and has no password`)
  return user
}

/**
 * Changes the name at once. A new address waits as `unconfirmed_email`: it leads to nothing until an administrator sets it.
 * Throws `invalid` for a name or an address that somebody has.
 */
export async function updateAccount(ctx: Ctx, input: UpdateAccount): Promise<Account> {
  const user = await requirePerson(ctx)
  if (user.auth_method !== 'password') throw forbidden('the name and address of this account come from its sign-on')
  const changes = {
    ...(input.username !== undefined && { username: input.username }),
    ...(input.email !== undefined && { unconfirmed_email: await unconfirmedAddress(ctx, user, input.email) }),
  }
  const event = userAudit('update', user, { changes: Object.keys(changes) })
  const updated = await audited(ctx, event, (ctx) => updateUser(ctx, user.id, changes))
  return { user: updated, hasSecondFactor: await hasSecondFactor(ctx.db, user.id) }
}

/** The address as it is to wait; null for the one that the account has, which takes an earlier claim back. */
async function unconfirmedAddress(ctx: Ctx, user: UserRow, email: string) {
  const owner = await findUserByLogin(ctx.db, email)
  if (owner && owner.id !== user.id) throw invalid('Email has already been taken', '/data/attributes/email')
  return owner ? null : email
}

/** Changes the password of whoever knows the current one, and signs out every other browser. */
export async function changePassword(ctx: Ctx, input: ChangePassword): Promise<Account> {
  const user = await requirePasswordAccount(ctx)
  await checkOwnPassword(ctx, user, input.current_password, '/data/attributes/current_password')
  const passwordHash = await hashPassword(input.password)
  return transact(ctx, async (ctx) => {
    const updated = await updateUser(ctx, user.id, { password_hash: passwordHash })
    await endSessions(ctx, user.id, currentSessionId(ctx))
    await recordAudit(ctx, userAudit('change_password', user))
    return { user: updated, hasSecondFactor: await hasSecondFactor(ctx.db, user.id) }
  })
}

export function currentSessionId(ctx: Ctx) {
  return ctx.actor.kind === 'user' ? ctx.actor.sessionId : undefined
}

export async function listOwnSessions(ctx: Ctx) {
  const user = await requirePerson(ctx)
  return listSessions(ctx, user.id)
}

export async function endOwnSession(ctx: Ctx, id: string) {
  const user = await requirePerson(ctx)
  await audited(ctx, userAudit('end_session', user, { session: id }), (ctx) => endSession(ctx, user.id, id))
}

/** Signs out everywhere, here too. API tokens stay: they are ended one by one. */
export async function endOwnSessions(ctx: Ctx) {
  const user = await requirePerson(ctx)
  await audited(ctx, userAudit('sign_out_everywhere', user), (ctx) => endSessions(ctx, user.id))
}

/** First step of the second factor: a new secret for the authenticator. It counts once a code of it was seen. */
export async function startTwoFactor(ctx: Ctx, password: string) {
  const user = await requirePasswordAccount(ctx)
  await checkOwnPassword(ctx, user, password, '/data/attributes/password')
  if (await hasSecondFactor(ctx.db, user.id)) throw conflict('the second factor is on already, switch it off first')
  return audited(ctx, userAudit('enroll_two_factor', user), (ctx) => enrollSecondFactor(ctx, user))
}

/** Second step: returns the recovery codes, which are shown this once. */
export async function finishTwoFactor(ctx: Ctx, code: string) {
  const user = await requirePasswordAccount(ctx)
  return audited(ctx, userAudit('enable_two_factor', user), async (ctx) => {
    const codes = await verifySecondFactor(ctx, user.id, code)
    if (!codes) throw wrongCode()
    return codes
  })
}

/** Switches the second factor off, for whoever has both the password and a code of it. */
export async function disableTwoFactor(ctx: Ctx, input: ConfirmTwoFactor) {
  const user = await requireTwoFactor(ctx, input)
  await audited(ctx, userAudit('disable_two_factor', user), (ctx) => removeSecondFactor(ctx, user.id))
}

/** New recovery codes in place of the old ones, used or not. */
export async function renewRecoveryCodes(ctx: Ctx, input: ConfirmTwoFactor) {
  const user = await requireTwoFactor(ctx, input)
  return audited(ctx, userAudit('renew_recovery_codes', user), (ctx) => replaceRecoveryCodes(ctx, user.id))
}

async function requireTwoFactor(ctx: Ctx, input: ConfirmTwoFactor) {
  const user = await requirePasswordAccount(ctx)
  if (!(await hasSecondFactor(ctx.db, user.id))) throw conflict('the second factor is off')
  await checkOwnPassword(ctx, user, input.password, '/data/attributes/password')
  if (await takeCode(ctx, user.id, input.otp)) return user
  await recordFailedSignIn(ctx, user, 'second factor')
  throw wrongCode()
}

function wrongCode() {
  return invalid('the code is wrong, or was used before', '/data/attributes/otp')
}
