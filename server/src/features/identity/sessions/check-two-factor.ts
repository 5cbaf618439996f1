import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { countCode, forgiveCode } from './count-attempts.ts'
import { acceptedStep } from './totp.ts'
import * as store from './two-factor-store.ts'
import { recoveryHash, secretContext } from './two-factor.ts'

/**
 * Whether `code` is a code of the user's two-factor authentication. A right code cannot be used again. Throws `too-many-requests`
 * after too many attempts.
 */
export async function consumeCode(ctx: Ctx, userId: string, code: string) {
  // Codes have a counter of their own: a right password must not reset the count of wrong codes.
  await countCode(ctx, userId)
  const isRight = await checkTwoFactor(ctx, userId, code)
  if (isRight) await forgiveCode(ctx, userId)
  return isRight
}

/** Takes a code of the authenticator, or a recovery code. */
async function checkTwoFactor(ctx: Ctx, userId: string, code: string) {
  return transact(ctx, async (ctx) => {
    const factor = await store.lockTwoFactor(ctx.db, userId)
    if (!factor?.verified_at) return false
    const step = acceptedStep(ctx.secrets.openText(factor.secret, secretContext(userId)), code, {
      now: ctx.now(),
      lastStep: factor.last_step,
    })
    if (step === undefined) return store.deleteRecoveryCode(ctx.db, userId, recoveryHash(code))
    await store.updateTwoFactor(ctx.db, userId, { last_step: step })
    return true
  })
}
