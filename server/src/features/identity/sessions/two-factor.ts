import { createHash } from 'node:crypto'
import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { countCode, forgiveCode } from './count-attempts.ts'
import { acceptedStep, canonicalRecoveryCode, newRecoveryCodes, newTotpSecret, totpUri } from './totp.ts'
import * as store from './two-factor-store.ts'

/** A plain hash is enough for 60 random bits behind a limit of attempts. Hashes are looked up by user. */
function recoveryHash(code: string) {
  return createHash('sha256').update(canonicalRecoveryCode(code)).digest()
}

/** The context in which the secret of a user's authenticator is sealed. */
function secretContext(userId: string) {
  return `second-factors/${userId}/secret`
}

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
