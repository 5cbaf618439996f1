import type { ConfirmTwoFactor } from '@groundstate/contract/users'
import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { conflict, invalid } from '../../../errors.ts'
import { checkOwnPassword } from '../sessions/check-credentials.ts'
import { consumeCode } from '../sessions/check-two-factor.ts'
import {
  enrollTwoFactor as enrollSecondFactor,
  removeTwoFactor,
  replaceRecoveryCodes,
  verifyTwoFactor as verifySecondFactor,
} from '../sessions/manage-two-factor.ts'
import { recordFailedSignIn } from '../sessions/record-failed-sign-in.ts'
import { hasTwoFactor } from '../sessions/two-factor-store.ts'
import { userAudit } from '../users/audit.ts'
import { requirePasswordAccount } from './access.ts'

/** First step: a new secret for the authenticator. It is in force once `verifyTwoFactor` has accepted a code of it. */
export async function enrollTwoFactor(ctx: Ctx, password: string) {
  const user = await requirePasswordAccount(ctx)
  await checkOwnPassword(ctx, user, password, '/data/attributes/password')
  if (await hasTwoFactor(ctx.db, user.id))
    throw conflict('two-factor authentication is on already, switch it off first')
  return audited(ctx, userAudit('enroll_two_factor', user), (ctx) => enrollSecondFactor(ctx, user))
}

/** Second step: switches two-factor authentication on. Returns the recovery codes, which are shown this once. */
export async function verifyTwoFactor(ctx: Ctx, code: string) {
  const user = await requirePasswordAccount(ctx)
  return audited(ctx, userAudit('enable_two_factor', user), async (ctx) => {
    const codes = await verifySecondFactor(ctx, user.id, code)
    if (!codes) throw wrongCode()
    return codes
  })
}

/** Disables two-factor authentication. It takes the password and a code. */
export async function disableTwoFactor(ctx: Ctx, input: ConfirmTwoFactor) {
  const user = await requireTwoFactor(ctx, input)
  await audited(ctx, userAudit('disable_two_factor', user), (ctx) => removeTwoFactor(ctx, user.id))
}

/** Replaces all recovery codes, used or not. */
export async function renewRecoveryCodes(ctx: Ctx, input: ConfirmTwoFactor) {
  const user = await requireTwoFactor(ctx, input)
  return audited(ctx, userAudit('renew_recovery_codes', user), (ctx) => replaceRecoveryCodes(ctx, user.id))
}

async function requireTwoFactor(ctx: Ctx, input: ConfirmTwoFactor) {
  const user = await requirePasswordAccount(ctx)
  if (!(await hasTwoFactor(ctx.db, user.id))) throw conflict('two-factor authentication is off')
  await checkOwnPassword(ctx, user, input.password, '/data/attributes/password')
  if (await consumeCode(ctx, user.id, input.otp)) return user
  await recordFailedSignIn(ctx, user, 'two-factor authentication')
  throw wrongCode()
}

function wrongCode() {
  return invalid('the code is wrong, or was used before', '/data/attributes/otp')
}
