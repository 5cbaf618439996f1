import { createHash } from 'node:crypto'
import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import * as store from './second-factor-store.ts'
import { acceptedStep, canonicalRecoveryCode, newRecoveryCodes, newTotpSecret, totpUri } from './totp.ts'

/** Starts over with a new secret, which counts only once `verifySecondFactor` has seen a code of it. */
export async function enrollSecondFactor(ctx: Ctx, user: { id: string; username: string }) {
  const secret = newTotpSecret()
  await store.upsertSecondFactor(ctx.db, {
    userId: user.id,
    secret: ctx.secrets.seal(secret, sealContext(user.id)),
    now: ctx.now(),
  })
  return { secret, uri: totpUri(secret, user.username) }
}

/**
 * Switches the second factor on when `code` shows that the authenticator has the secret. Returns the recovery codes, which
 * are shown this once; undefined when the code is wrong or there is nothing to verify.
 */
export async function verifySecondFactor(ctx: Ctx, userId: string, code: string) {
  return transact(ctx, async (ctx) => {
    const factor = await store.lockSecondFactor(ctx.db, userId)
    if (!factor || factor.verified_at) return undefined
    const step = acceptedStep(ctx.secrets.openText(factor.secret, sealContext(userId)), code, {
      now: ctx.now(),
      lastStep: factor.last_step,
    })
    if (step === undefined) return undefined
    await store.updateSecondFactor(ctx.db, userId, { verified_at: ctx.now(), last_step: step })
    return replaceRecoveryCodes(ctx, userId)
  })
}

/** New recovery codes in place of the old ones. */
export async function replaceRecoveryCodes(ctx: Ctx, userId: string) {
  const codes = newRecoveryCodes()
  await store.replaceRecoveryCodes(ctx.db, userId, codes.map(recoveryHash))
  return codes
}

/** Whether `code` is a code of the user's authenticator or a recovery code; it is used up by this. */
export async function checkSecondFactor(ctx: Ctx, userId: string, code: string) {
  return transact(ctx, async (ctx) => {
    const factor = await store.lockSecondFactor(ctx.db, userId)
    if (!factor?.verified_at) return false
    const step = acceptedStep(ctx.secrets.openText(factor.secret, sealContext(userId)), code, {
      now: ctx.now(),
      lastStep: factor.last_step,
    })
    if (step === undefined) return store.deleteRecoveryCode(ctx.db, userId, recoveryHash(code))
    await store.updateSecondFactor(ctx.db, userId, { last_step: step })
    return true
  })
}

export async function removeSecondFactor(ctx: Ctx, userId: string) {
  await store.deleteSecondFactor(ctx.db, userId)
}

/** 60 random bits behind a limit of attempts: a plain hash is enough, and the user's row keeps it apart from others'. */
function recoveryHash(code: string) {
  return createHash('sha256').update(canonicalRecoveryCode(code)).digest()
}

function sealContext(userId: string) {
  return `second-factors/${userId}/secret`
}
