import type { Ctx } from '../../../app.ts'
import { AppError, unauthorized } from '../../../errors.ts'
import { openSession } from '../sessions/service.ts'
import { checkPassword, recordFailedSignIn, takeCode } from '../sessions/methods.ts'
import { hasSecondFactor } from '../sessions/second-factor-store.ts'
import { findUser } from '../users/store.ts'

/** How long a right password is remembered while the code is looked up. */
const PENDING_MS = 5 * 60_000
const PURPOSE = 'sign-in/second-factor'

/** Either signed in, or a text that stands for the right password until the code comes. */
export type SignInStep = { setCookie: string } | { pending: string }

/** First step of signing in by a page: the password. Throws as `checkPassword`. */
export async function startSignIn(ctx: Ctx, input: { username: string; password: string }): Promise<SignInStep> {
  const user = await checkPassword(ctx, input.username, input.password)
  if (!(await hasSecondFactor(ctx.db, user.id))) return openSession(ctx, user)
  const expiresAt = new Date(ctx.now().getTime() + PENDING_MS)
  return { pending: ctx.secrets.signPath({ purpose: PURPOSE, id: user.id, expiresAt }) }
}

/** Second step: the code. Throws `unauthorized` whose source points at `otp` when the code is wrong. */
export async function finishSignIn(ctx: Ctx, input: { pending: string; otp: string }): Promise<SignInStep> {
  const pending = ctx.secrets.verifyPath(input.pending, PURPOSE, ctx.now())
  const user = 'id' in pending ? await findUser(ctx.db, pending.id) : undefined
  if (!user || user.suspended_at) throw unauthorized('the sign-in took too long, start again')
  if (!(await takeCode(ctx, user.id, input.otp))) {
    await recordFailedSignIn(ctx, user, 'second factor')
    throw new AppError('unauthorized', [
      { detail: 'the code is wrong, or was used before', source: { pointer: '/data/attributes/otp' } },
    ])
  }
  return openSession(ctx, user)
}
