import type { CreateSession } from '@groundstate/contract/sessions'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { AppError, forbidden, invalid, unauthorized } from '../../../errors.ts'
import { verifyPassword } from '../../../secrets/passwords.ts'
import { userAudit } from '../users/resource.ts'
import { type UserRow, findUserByLogin } from '../users/store.ts'
import { countAttempt, forgiveAttempt } from './count-attempts.ts'
import type { SignInMethods } from './resource.ts'
import { hasTwoFactor } from './two-factor-store.ts'
import { consumeCode } from './two-factor.ts'

/**
 * Finds the account of a login and its password, before any two-factor authentication. It counts the attempt, and takes as long for
 * a login that no one has. Throws `unauthorized` without saying which of the two was wrong, `too-many-requests` after
 * too many attempts.
 */
export async function checkPassword(ctx: Ctx, login: string, password: string): Promise<UserRow> {
  if (!signInMethods(ctx).password) throw forbidden('signing in with a password is switched off on this server')
  const user = await findUserByLogin(ctx.db, login)
  const attempt = await countAttempt(ctx, user?.id ?? login)
  const isRight = await verifyPassword(password, user?.password_hash ?? undefined)
  if (!user || !isRight) {
    await recordFailedSignIn(ctx, user, 'password')
    throw unauthorized('the username or the password is wrong')
  }
  if (user.suspended_at) {
    await recordFailedSignIn(ctx, user, 'suspended')
    throw forbidden('this account is suspended, ask an administrator of this server')
  }
  await forgiveAttempt(ctx, user.id, attempt)
  return user
}

/**
 * Finds the account of a login, its password and, when it has two-factor authentication, a code. When the password is right and
 * the code is missing or wrong, it throws `unauthorized` with a source that points at `otp`.
 */
export async function checkCredentials(ctx: Ctx, input: CreateSession): Promise<UserRow> {
  const user = await checkPassword(ctx, input.username ?? input.email ?? '', input.password)
  if (!(await hasTwoFactor(ctx.db, user.id))) return user
  if (input.otp === undefined || input.otp === '') throw codeError('a code of your authenticator is needed')
  await checkCode(ctx, user, input.otp)
  return user
}

/** Throws `unauthorized` with a source that points at `otp` when the code is wrong, and records the failure. */
export async function checkCode(ctx: Ctx, user: UserRow, code: string) {
  if (await consumeCode(ctx, user.id, code)) return
  await recordFailedSignIn(ctx, user, 'two-factor authentication')
  throw codeError('the code is wrong, or was used before')
}

/** Asks a user who is signed in for the password again. Throws `invalid` at `pointer`, or `too-many-requests`. */
export async function checkOwnPassword(ctx: Ctx, user: UserRow, password: string, pointer: string) {
  const attempt = await countAttempt(ctx, user.id)
  if (user.password_hash === null || !(await verifyPassword(password, user.password_hash))) {
    await recordFailedSignIn(ctx, user, 'current password')
    throw invalid('the current password is wrong', pointer)
  }
  await forgiveAttempt(ctx, user.id, attempt)
}

function codeError(detail: string) {
  return new AppError('unauthorized', [{ detail, source: { pointer: '/data/attributes/otp' } }])
}

/**
 * Records in the audit trail that a sign-in failed, or that a signed-in user did not know the password or code again.
 * Do not call it in a transaction that rolls back after the failure. An unknown login is recorded too, so that it takes
 * as long; but not its text, since people sometimes type a password into the field of the name.
 */
export async function recordFailedSignIn(ctx: Ctx, user: UserRow | undefined, reason: string) {
  const account = user ?? { id: 'unknown', username: 'unknown' }
  await transact(ctx, async (ctx) => recordAudit(ctx, userAudit('sign_in_failed', account, { reason })))
}

/** The ways to sign in that this server offers, for the pages and the API. */
export function signInMethods({ config }: Ctx): SignInMethods {
  return {
    password: config.passwordSignIn,
    sso: config.oidcIssuer === undefined ? null : { name: config.oidcName, url: '/auth/oidc' },
  }
}
