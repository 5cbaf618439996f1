import type { CreateSession, SignInMethodsResource } from '@groundstate/contract/sessions'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { AppError, forbidden, invalid, unauthorized } from '../../../errors.ts'
import { verifyPassword } from '../../../secrets/passwords.ts'
import { userAudit } from '../users/resource.ts'
import { type UserRow, findUserByLogin } from '../users/store.ts'
import { countAttempt, forgiveAttempt } from './count-attempts.ts'
import { hasTwoFactor } from './two-factor-store.ts'
import { consumeCode } from './two-factor.ts'

/**
 * Finds the account of a login and verifies its password; two-factor authentication comes later. An unknown login takes as long as a
 * known one. Throws `unauthorized`, which does not reveal which of the two was wrong, or `too-many-requests`.
 */
export async function checkPassword(ctx: Ctx, login: string, password: string): Promise<UserRow> {
  if (!signInMethods(ctx).password) throw forbidden('sign-in with a password is disabled on this server')
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

/** As `checkPassword`, and checks the two-factor code where the account has one. Throws `unauthorized` at `otp` for the code. */
export async function checkCredentials(ctx: Ctx, input: CreateSession): Promise<UserRow> {
  const user = await checkPassword(ctx, input.username ?? input.email ?? '', input.password)
  if (!(await hasTwoFactor(ctx.db, user.id))) return user
  if (input.otp === undefined || input.otp === '') throw codeError('a code from your authenticator is required')
  await checkCode(ctx, user, input.otp)
  return user
}

/** Throws `unauthorized` with a source at `otp` for a wrong code, and records the failure. */
export async function checkCode(ctx: Ctx, user: UserRow, code: string) {
  if (await consumeCode(ctx, user.id, code)) return
  await recordFailedSignIn(ctx, user, 'two-factor authentication')
  throw codeError('the code is wrong or was already used')
}

/** Verifies the password of a signed-in user again. Throws `invalid` at `pointer`, or `too-many-requests`. */
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
 * Records a failed sign-in or confirmation in the audit trail. Do not call it in a transaction that rolls back after the failure.
 * An unknown login is recorded too, so that it takes as long; its text is not, since users sometimes type a password there.
 */
export async function recordFailedSignIn(ctx: Ctx, user: UserRow | undefined, reason: string) {
  const account = user ?? { id: 'unknown', username: 'unknown' }
  await transact(ctx, async (ctx) => recordAudit(ctx, userAudit('sign_in_failed', account, { reason })))
}

export type SignInMethods = SignInMethodsResource['attributes']

export function signInMethods({ config }: Ctx): SignInMethods {
  return {
    password: config.passwordSignIn,
    sso: config.oidcIssuer === undefined ? null : { name: config.oidcName, url: '/auth/oidc' },
  }
}
