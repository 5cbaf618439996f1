import type { ChangePassword, ConfirmTwoFactor, UpdateAccount } from '@groundstate/contract/users'
import type { Ctx } from '../../../app.ts'
import { audited, recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { conflict, forbidden, invalid } from '../../../errors.ts'
import { hashPassword } from '../../../secrets/passwords.ts'
import { checkOwnPassword, recordFailedSignIn } from '../sessions/credentials.ts'
import { currentSessionId, endSession, endSessions } from '../sessions/service.ts'
import { listSessions } from '../sessions/store.ts'
import { hasTwoFactor } from '../sessions/two-factor-store.ts'
import {
  consumeCode,
  enrollTwoFactor as enrollSecondFactor,
  removeTwoFactor,
  replaceRecoveryCodes,
  verifyTwoFactor as verifySecondFactor,
} from '../sessions/two-factor.ts'
import { userAudit } from '../users/resource.ts'
import { updateUser } from '../users/service.ts'
import { type UserRow, findUserByLogin } from '../users/store.ts'
import { type Account, requirePasswordAccount, requirePerson, withTwoFactor } from './access.ts'

/**
 * Changes the username at once. A new address waits as `unconfirmed_email`: it has no effect until an administrator
 * sets it. Throws `invalid` for a username or an address that is taken.
 */
export async function updateAccount(ctx: Ctx, input: UpdateAccount): Promise<Account> {
  const user = await requirePerson(ctx)
  if (user.auth_method !== 'password') throw forbidden('the name and address of this account come from its sign-on')
  const changes = {
    ...(input.username !== undefined && { username: input.username }),
    ...(input.email !== undefined && { unconfirmed_email: await unconfirmedAddress(ctx, user, input.email) }),
  }
  const event = userAudit('update', user, { changes: Object.keys(changes) })
  return withTwoFactor(ctx, await audited(ctx, event, (ctx) => updateUser(ctx, user.id, changes)))
}

/**
 * The address to wait for confirmation. Null for the address that the account has already: this withdraws an earlier
 * claim.
 */
async function unconfirmedAddress(ctx: Ctx, user: UserRow, email: string) {
  const owner = await findUserByLogin(ctx.db, email)
  if (owner && owner.id !== user.id) throw invalid('Email has already been taken', '/data/attributes/email')
  return owner ? null : email
}

/** Changes the password of a user who knows the current one, and signs out every other browser. */
export async function changePassword(ctx: Ctx, input: ChangePassword): Promise<Account> {
  const user = await requirePasswordAccount(ctx)
  await checkOwnPassword(ctx, user, input.current_password, '/data/attributes/current_password')
  const passwordHash = await hashPassword(input.password)
  return transact(ctx, async (ctx) => {
    const updated = await updateUser(ctx, user.id, { password_hash: passwordHash })
    await endSessions(ctx, user.id, currentSessionId(ctx))
    await recordAudit(ctx, userAudit('change_password', user))
    return withTwoFactor(ctx, updated)
  })
}

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

export async function listOwnSessions(ctx: Ctx) {
  const user = await requirePerson(ctx)
  return listSessions(ctx.db, user.id, ctx.now())
}

export async function endOwnSession(ctx: Ctx, id: string) {
  const user = await requirePerson(ctx)
  await audited(ctx, userAudit('end_session', user, { session: id }), (ctx) => endSession(ctx, user.id, id))
}

/** Signs out everywhere, here too. API tokens stay: they are deleted one by one. */
export async function endOwnSessions(ctx: Ctx) {
  const user = await requirePerson(ctx)
  await audited(ctx, userAudit('sign_out_everywhere', user), (ctx) => endSessions(ctx, user.id))
}
