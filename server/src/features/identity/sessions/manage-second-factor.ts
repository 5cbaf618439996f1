import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import * as store from './second-factor-store.ts'
import { recoveryHash, secretContext } from './second-factor.ts'
import { acceptedStep, newRecoveryCodes, newTotpSecret, totpUri } from './totp.ts'

/** Starts over with a new secret. It is in force once `verifySecondFactor` has accepted a code of it. */
export async function enrollSecondFactor(ctx: Ctx, user: { id: string; username: string }) {
  const secret = newTotpSecret()
  await store.upsertSecondFactor(ctx.db, {
    userId: user.id,
    secret: ctx.secrets.seal(secret, secretContext(user.id)),
    now: ctx.now(),
  })
  return { secret, uri: totpUri(secret, user.username) }
}

/**
 * Switches the second factor on when `code` proves that the authenticator has the secret. Returns the recovery codes,
 * which are shown this once; undefined when the code is wrong or no enrollment is open.
 */
export async function verifySecondFactor(ctx: Ctx, userId: string, code: string) {
  return transact(ctx, async (ctx) => {
    const factor = await store.lockSecondFactor(ctx.db, userId)
    if (!factor || factor.verified_at) return undefined
    const step = acceptedStep(ctx.secrets.openText(factor.secret, secretContext(userId)), code, {
      now: ctx.now(),
      lastStep: factor.last_step,
    })
    if (step === undefined) return undefined
    await store.updateSecondFactor(ctx.db, userId, { verified_at: ctx.now(), last_step: step })
    return replaceRecoveryCodes(ctx, userId)
  })
}

/** Replaces the recovery codes of a user with new ones, and returns those. */
export async function replaceRecoveryCodes(ctx: Ctx, userId: string) {
  const codes = newRecoveryCodes()
  await store.replaceRecoveryCodes(ctx.db, userId, codes.map(recoveryHash))
  return codes
}

export async function removeSecondFactor(ctx: Ctx, userId: string) {
  await store.deleteSecondFactor(ctx.db, userId)
}
