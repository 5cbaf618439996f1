import type { CreateSession } from '@groundstate/contract/sessions'
import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { AppError, forbidden, invalid, unauthorized } from '../../../errors.ts'
import { verifyPassword } from '../../../secrets/passwords.ts'
import { userAudit } from '../users/service.ts'
import { countAttempt, forgiveAttempt } from './attempts.ts'
import { checkSecondFactor } from './second-factor.ts'
import { recordAudit } from '../../../audit/record.ts'
import { findUserByLogin, type UserRow } from '../users/store.ts'
import { hasSecondFactor } from './second-factor-store.ts'

export type SignInMethods = {
  password: boolean
  /** The provider to sign in with: its name for people, and where to go. */
  sso: { name: string; url: string } | null
}

/** The ways to sign in that this server offers, in one place: the pages and the API ask here. */
export function signInMethods({ config }: Ctx): SignInMethods {
  return {
    password: config.passwordSignIn,
    sso: config.oidcIssuer === undefined ? null : { name: config.oidcName, url: '/auth/oidc' },
  }
}

/**
 * The account of a name and its password, before any second factor. Takes as long for a name that nobody has, and
 * counts the attempt. Throws `unauthorized` without saying which of the two was wrong, `too-many-requests` after too many.
 */
export async function checkPassword(ctx: Ctx, login: string, password: string): Promise<UserRow> {
  if (!signInMethods(ctx).password) throw forbidden('signing in with a password is switched off on this server')
  const user = await findUserByLogin(ctx.db, login)
  const account = user?.id ?? login
  await countAttempt(ctx, account)
  const isRight = await verifyPassword(password, user?.password_hash ?? undefined)
  if (!user || !isRight) {
    await recordFailedSignIn(ctx, user, 'password')
    throw unauthorized('the username or the password is wrong')
  }
  if (user.suspended_at) {
    await recordFailedSignIn(ctx, user, 'suspended')
    throw forbidden('this account is suspended, ask an administrator of this server')
  }
  await forgiveAttempt(ctx, account)
  return user
}

/**
 * The account of a name, its password and, when it has a second factor, a code of that. Throws `unauthorized` whose
 * source points at `otp` when the password is right and the code is what is missing or wrong.
 */
export async function checkCredentials(ctx: Ctx, input: CreateSession): Promise<UserRow> {
  const user = await checkPassword(ctx, input.username ?? input.email ?? '', input.password)
  if (!(await hasSecondFactor(ctx.db, user.id))) return user
  if (input.otp === undefined || input.otp === '') throw codeError('a code of your authenticator is needed')
  if (await takeCode(ctx, user.id, input.otp)) return user
  await recordFailedSignIn(ctx, user, 'second factor')
  throw codeError('the code is wrong, or was used before')
}

/** Whether `code` is a code of the user's second factor; it is used up. Throws `too-many-requests` after too many. */
export async function takeCode(ctx: Ctx, userId: string, code: string) {
  // Counted apart from passwords: a right password must not reset the count of wrong codes.
  const account = `otp:${userId}`
  await countAttempt(ctx, account)
  const isRight = await checkSecondFactor(ctx, userId, code)
  if (isRight) await forgiveAttempt(ctx, account)
  return isRight
}

/** Asks whoever is signed in for the password again. Throws `invalid` at `pointer`, or `too-many-requests`. */
export async function checkOwnPassword(ctx: Ctx, user: UserRow, password: string, pointer: string) {
  await countAttempt(ctx, user.id)
  if (user.password_hash === null || !(await verifyPassword(password, user.password_hash))) {
    await recordFailedSignIn(ctx, user, 'current password')
    throw invalid('the current password is wrong', pointer)
  }
  await forgiveAttempt(ctx, user.id)
}

/**
 * Keeps in the audit trail that a sign-in failed, or that whoever is signed in did not know the secret again; it must not
 * be called where a failure rolls back. A name that nobody has is kept too, so that it takes as long; but not as what it
 * is, since people type passwords into the field of the name.
 */
export async function recordFailedSignIn(ctx: Ctx, user: UserRow | undefined, reason: string) {
  const account = user ?? { id: 'unknown', username: 'unknown' }
  await transact(ctx, async (ctx) => recordAudit(ctx, userAudit('sign_in_failed', account, { reason })))
}

function codeError(detail: string) {
  return new AppError('unauthorized', [{ detail, source: { pointer: '/data/attributes/otp' } }])
}
