import type { ChangePassword, ConfirmTwoFactor, UpdateAccount } from '@groundstate/contract/users'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { audited, recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { conflict, forbidden, invalid, notFound } from '../../../errors.ts'
import { randomText } from '../../../ids.ts'
import { hashPassword } from '../../../secrets/passwords.ts'
import { checkOwnPassword, recordFailedSignIn, currentSessionId, endSession, endSessions } from '../sessions/service.ts'
import { listSessions, hasTwoFactor } from '../sessions/store.ts'
import * as twoFactor from '../sessions/two-factor.ts'
import { userAudit } from '../users/resource.ts'
import { updateUser } from '../users/service.ts'
import { type UserRow, deleteAvatar, findUser, upsertAvatar } from '../users/store.ts'
import { readImage } from './image.ts'

export type Account = { user: UserRow; hasTwoFactor: boolean }

/** The account of the actor; a team's token has its service account. Throws `not-found` for tokens that act as no user. */
export async function requireAccount(ctx: Ctx): Promise<Account> {
  const user = ctx.actor.kind === 'user' ? await findUser(ctx.db, ctx.actor.userId) : undefined
  if (!user) throw notFound('user')
  return withTwoFactor(ctx, user)
}

async function withTwoFactor(ctx: Ctx, user: UserRow): Promise<Account> {
  return { user, hasTwoFactor: await hasTwoFactor(ctx.db, user.id) }
}

/** As `requireAccount`; throws `forbidden` for a team's token. */
export async function requirePerson(ctx: Ctx) {
  const { user } = await requireAccount(ctx)
  if (user.is_service_account) throw forbidden(`${user.username} is the account of a team, which has no settings`)
  return user
}

async function requirePasswordAccount(ctx: Ctx) {
  const user = await requirePerson(ctx)
  if (user.password_hash === null) throw conflict(`${user.username} signs in with single sign-on and has no password`)
  return user
}

/**
 * Changes the username. A new address has no effect until an administrator sets it, so it is not compared with those of other accounts: the
 * response must not reveal them. Throws `invalid` for a taken name.
 */
export async function updateAccount(ctx: Ctx, input: UpdateAccount): Promise<Account> {
  const user = await requirePerson(ctx)
  if (user.auth_method !== 'password') throw forbidden('the name and address of this account come from single sign-on')
  const changes = {
    ...(input.username !== undefined && { username: input.username }),
    // The current address withdraws an earlier claim.
    ...(input.email !== undefined && {
      unconfirmed_email: input.email.toLowerCase() === user.email?.toLowerCase() ? null : input.email,
    }),
  }
  const settings = { before: user, columns: changes }
  const event = { ...userAudit('update', user, { changes: Object.keys(changes) }), settings }
  return withTwoFactor(ctx, await audited(ctx, event, (ctx) => updateUser(ctx, user.id, changes)))
}

export const MAX_AVATAR_BYTES = 256 * 1024
/** A small file can contain a huge image, which every browser that shows it would decode. */
const MAX_AVATAR_PIXELS = 1024

/** Replaces the avatar. Its public file name is random. Throws `invalid` for content that is not such an image. */
export async function setAvatar(ctx: Ctx, content: Buffer): Promise<Account> {
  const image = readImage(content)
  if (!image) throw invalid('the content is no PNG, JPEG or WebP image')
  const { width, height } = image
  if (width !== height || width < 1 || width > MAX_AVATAR_PIXELS) {
    const limit = `${MAX_AVATAR_PIXELS} × ${MAX_AVATAR_PIXELS}`
    throw invalid(`the image has ${width} × ${height} pixels; it must be square and at most ${limit}`)
  }
  const file = `${randomText(32)}.${image.extension}`
  return changeAvatar(ctx, file, async ({ db }, userId) => upsertAvatar(db, { user_id: userId, file, content }))
}

export async function removeAvatar(ctx: Ctx) {
  return changeAvatar(ctx, null, async ({ db }, userId) => deleteAvatar(db, userId))
}

async function changeAvatar(
  ctx: Ctx,
  avatar: string | null,
  write: (ctx: TransactionCtx, userId: string) => Promise<void>,
) {
  const user = await requirePerson(ctx)
  const changed = await audited(ctx, userAudit('update', user, { changes: ['avatar'] }), async (ctx) => {
    await write(ctx, user.id)
    return updateUser(ctx, user.id, { avatar })
  })
  return withTwoFactor(ctx, changed)
}

/** Changes the password and ends all other sessions. */
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

/** First step: creates a secret for the authenticator, effective once `verifyTwoFactor` has accepted one of its codes. */
export async function enrollTwoFactor(ctx: Ctx, password: string) {
  const user = await requirePasswordAccount(ctx)
  await checkOwnPassword(ctx, user, password, '/data/attributes/password')
  if (await hasTwoFactor(ctx.db, user.id))
    throw conflict('two-factor authentication is already enabled: disable it first')
  return audited(ctx, userAudit('enroll_two_factor', user), (ctx) => twoFactor.enrollTwoFactor(ctx, user))
}

/** Second step: enables two-factor authentication. Returns the recovery codes, which are shown only once. */
export async function verifyTwoFactor(ctx: Ctx, code: string) {
  const user = await requirePasswordAccount(ctx)
  return audited(ctx, userAudit('enable_two_factor', user), async (ctx) => {
    const codes = await twoFactor.verifyTwoFactor(ctx, user.id, code)
    if (!codes) throw wrongCode()
    return codes
  })
}

export async function disableTwoFactor(ctx: Ctx, input: ConfirmTwoFactor) {
  const user = await requireTwoFactor(ctx, input)
  await audited(ctx, userAudit('disable_two_factor', user), (ctx) => twoFactor.removeTwoFactor(ctx, user.id))
}

export async function renewRecoveryCodes(ctx: Ctx, input: ConfirmTwoFactor) {
  const user = await requireTwoFactor(ctx, input)
  return audited(ctx, userAudit('renew_recovery_codes', user), (ctx) => twoFactor.replaceRecoveryCodes(ctx, user.id))
}

async function requireTwoFactor(ctx: Ctx, input: ConfirmTwoFactor) {
  const user = await requirePasswordAccount(ctx)
  if (!(await hasTwoFactor(ctx.db, user.id))) throw conflict('two-factor authentication is disabled')
  await checkOwnPassword(ctx, user, input.password, '/data/attributes/password')
  if (await twoFactor.consumeCode(ctx, user.id, input.otp)) return user
  await recordFailedSignIn(ctx, user, 'two-factor authentication')
  throw wrongCode()
}

function wrongCode() {
  return invalid('the code is wrong or was already used', '/data/attributes/otp')
}

export async function listOwnSessions(ctx: Ctx) {
  const user = await requirePerson(ctx)
  return listSessions(ctx.db, user.id, ctx.now())
}

export async function endOwnSession(ctx: Ctx, id: string) {
  const user = await requirePerson(ctx)
  await audited(ctx, userAudit('end_session', user, { session: id }), (ctx) => endSession(ctx, user.id, id))
}

/** Ends all sessions, the current one included. API tokens stay valid. */
export async function endOwnSessions(ctx: Ctx) {
  const user = await requirePerson(ctx)
  await audited(ctx, userAudit('sign_out_everywhere', user), (ctx) => endSessions(ctx, user.id))
}
