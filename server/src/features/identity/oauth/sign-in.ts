import type { Ctx } from '../../../app.ts'
import { unauthorized } from '../../../errors.ts'
import { checkCode, checkPassword } from '../sessions/check-credentials.ts'
import { openSession } from '../sessions/create.ts'
import { hasTwoFactor } from '../sessions/two-factor-store.ts'
import { findUser } from '../users/store.ts'

/** How long the user may take from the password to the code. */
const PENDING_MS = 5 * 60_000
const PURPOSE = 'sign-in/second-factor'

/** Either signed in, or a signed text that proves the right password until the code comes. */
export type SignInStep = { setCookie: string } | { pending: string }

/** First step of signing in on a page: the password. Throws as `checkPassword`. */
export async function startSignIn(ctx: Ctx, input: { username: string; password: string }): Promise<SignInStep> {
  const user = await checkPassword(ctx, input.username, input.password)
  if (!(await hasTwoFactor(ctx.db, user.id))) return openSession(ctx, user)
  const expiresAt = new Date(ctx.now().getTime() + PENDING_MS)
  return { pending: ctx.secrets.signPath({ purpose: PURPOSE, id: user.id, expiresAt }) }
}

/** Second step: the code. Throws `unauthorized` with a source that points at `otp` when the code is wrong. */
export async function finishSignIn(ctx: Ctx, input: { pending: string; otp: string }): Promise<SignInStep> {
  const pending = ctx.secrets.verifyPath(input.pending, PURPOSE, ctx.now())
  const user = 'id' in pending ? await findUser(ctx.db, pending.id) : undefined
  if (!user || user.suspended_at) throw unauthorized('the sign-in took too long, start again')
  await checkCode(ctx, user, input.otp)
  return openSession(ctx, user)
}
