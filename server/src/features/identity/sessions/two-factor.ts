import { createHash } from 'node:crypto'
import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { sealedColumn } from '../../../secrets/sealed.ts'
import { countCode, uncountCode } from './count-attempts.ts'
import * as store from './store.ts'
import { acceptedStep, canonicalRecoveryCode, newRecoveryCodes, newTotpSecret, totpUri } from './totp.ts'

/** A plain hash suffices for 60 random bits behind a limit of attempts. Hashes are looked up by user. */
function recoveryHash(code: string) {
  return createHash('sha256').update(canonicalRecoveryCode(code)).digest()
}

export const sealedTwoFactorSecret = sealedColumn(
  'two_factor_secrets.secret',
  ['user_id'],
  ({ user_id: id }) => `second-factors/${id}/secret`,
)

function secretContext(userId: string) {
  return sealedTwoFactorSecret.context({ user_id: userId })
}

function acceptedStepOf(ctx: Ctx, secret: store.TwoFactorRow, code: string) {
  const text = ctx.secrets.openText(secret.secret, secretContext(secret.user_id))
  return acceptedStep(text, code, { now: ctx.now(), lastStep: secret.last_step })
}

/** Whether `code` is an unused code of the user's authenticator, or a recovery code. Throws `too-many-requests`. */
export async function consumeCode(ctx: Ctx, userId: string, code: string) {
  // Codes have a separate counter: a correct password must not reset the count of wrong codes.
  await countCode(ctx, userId)
  const isRight = await transact(ctx, async (ctx) => {
    const secret = await store.lockTwoFactor(ctx.db, userId)
    if (!secret?.verified_at) return false
    const step = acceptedStepOf(ctx, secret, code)
    if (step === undefined) return store.deleteRecoveryCode(ctx.db, userId, recoveryHash(code))
    await store.updateTwoFactor(ctx.db, userId, { last_step: step })
    return true
  })
  if (isRight) await uncountCode(ctx, userId)
  return isRight
}

/** Creates a secret, effective once `verifyTwoFactor` has accepted one of its codes. Replaces an unverified one. */
export async function enrollTwoFactor(ctx: Ctx, user: { id: string; username: string }) {
  const secret = newTotpSecret()
  await store.upsertTwoFactor(ctx.db, {
    userId: user.id,
    secret: ctx.secrets.seal(secret, secretContext(user.id)),
    now: ctx.now(),
  })
  return { secret, uri: totpUri(secret, user.username) }
}

/** Enables two-factor authentication and returns the recovery codes; undefined for a wrong code or without an open enrollment. */
export async function verifyTwoFactor(ctx: Ctx, userId: string, code: string) {
  return transact(ctx, async (ctx) => {
    const secret = await store.lockTwoFactor(ctx.db, userId)
    const step = secret && !secret.verified_at ? acceptedStepOf(ctx, secret, code) : undefined
    if (step === undefined) return undefined
    await store.updateTwoFactor(ctx.db, userId, { verified_at: ctx.now(), last_step: step })
    return replaceRecoveryCodes(ctx, userId)
  })
}

export async function replaceRecoveryCodes(ctx: Ctx, userId: string) {
  const codes = newRecoveryCodes()
  await store.replaceRecoveryCodes(ctx.db, userId, codes.map(recoveryHash))
  return codes
}

export async function removeTwoFactor(ctx: Ctx, userId: string) {
  await store.deleteTwoFactor(ctx.db, userId)
}
