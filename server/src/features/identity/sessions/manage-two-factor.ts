import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { acceptedStep, newRecoveryCodes, newTotpSecret, totpUri } from './totp.ts'
import * as store from './two-factor-store.ts'
import { recoveryHash, secretContext } from './two-factor.ts'

/** Starts over with a new secret. It is in force once `verifySecondFactor` has accepted a code of it. */
export async function enrollTwoFactor(ctx: Ctx, user: { id: string; username: string }) {
  const secret = newTotpSecret()
  await store.upsertTwoFactor(ctx.db, {
    userId: user.id,
    secret: ctx.secrets.seal(secret, secretContext(user.id)),
    now: ctx.now(),
  })
  return { secret, uri: totpUri(secret, user.username) }
}

/**
 * Enables two-factor authentication when `code` proves that the authenticator has the secret. Returns the recovery codes,
 * which are shown this once; undefined when the code is wrong or no enrollment is open.
 */
export async function verifyTwoFactor(ctx: Ctx, userId: string, code: string) {
  return transact(ctx, async (ctx) => {
    const factor = await store.lockTwoFactor(ctx.db, userId)
    if (!factor || factor.verified_at) return undefined
    const step = acceptedStep(ctx.secrets.openText(factor.secret, secretContext(userId)), code, {
      now: ctx.now(),
      lastStep: factor.last_step,
    })
    if (step === undefined) return undefined
    await store.updateTwoFactor(ctx.db, userId, { verified_at: ctx.now(), last_step: step })
    return replaceRecoveryCodes(ctx, userId)
  })
}

/** Replaces the recovery codes of a user with new ones, and returns those. */
export async function replaceRecoveryCodes(ctx: Ctx, userId: string) {
  const codes = newRecoveryCodes()
  await store.replaceRecoveryCodes(ctx.db, userId, codes.map(recoveryHash))
  return codes
}

export async function removeTwoFactor(ctx: Ctx, userId: string) {
  await store.deleteTwoFactor(ctx.db, userId)
}
