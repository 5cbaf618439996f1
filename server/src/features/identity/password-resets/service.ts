import type { SetPassword } from '@groundstate/contract/password-resets'
import { z } from 'zod'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { userActor } from '../../../auth/actor.ts'
import { newLinkSecret, tokenHash } from '../../../auth/tokens.ts'
import { transact } from '../../../db/db.ts'
import { AppError, forbidden } from '../../../errors.ts'
import { jobHandler } from '../../../handlers.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { enqueueMail, sendsMail } from '../../../mail/mail.ts'
import { hashPassword } from '../../../secrets/passwords.ts'
import { sealedJobProperty } from '../../../secrets/sealed.ts'
import { countResetRequest, countUnknownLink, forgetAttempts } from '../sessions/count-attempts.ts'
import { checkPasswordSignIn, endSessions } from '../sessions/service.ts'
import { userAudit } from '../users/resource.ts'
import { updateUser } from '../users/service.ts'
import { type UserRow, deletePasswordResets, findUserByLogin } from '../users/store.ts'
import type { PasswordReset } from './resource.ts'
import * as store from './store.ts'

const PASSWORD_RESET_TTL_MS = 24 * 60 * 60_000

const requestResetJob = jobKind('password-resets.request', z.object({ sealed: z.base64() }), { retryLimit: 3 })
export const sealedResetRequest = sealedJobProperty(requestResetJob, 'sealed', () => 'password-resets.request')
const CONTEXT = sealedResetRequest.context({})

/**
 * Mails a link to the account with that name or address. Everything that depends on the account happens in a job, so that neither the response
 * nor its duration reveals whether there is one. The login is encrypted: users sometimes type a password there.
 */
export async function requestPasswordReset(ctx: Ctx, login: string) {
  await checkPasswordSignIn(ctx)
  if (!sendsMail(ctx)) throw forbidden('this server sends no mail: ask an administrator for a link to set a password')
  await countResetRequest(ctx, login)
  const sealed = ctx.secrets.seal(login, CONTEXT).toString('base64')
  await ctx.jobs.enqueue(ctx.db, requestResetJob, { sealed })
}

export const passwordResetJobs = [
  jobHandler(requestResetJob, async (ctx, { sealed }) => {
    const user = await findUserByLogin(ctx.db, ctx.secrets.openText(Buffer.from(sealed, 'base64'), CONTEXT))
    // Accounts of single sign-on must not get a password this way.
    if (!user?.email || user.password_hash === null || user.suspended_at) return
    await transact(ctx, async (ctx) => {
      await insertPasswordReset(ctx, user)
      await recordAudit(ctx, userAudit('request_password_reset', user))
    })
  }),
]

/** Creates a link for a user, which replaces earlier ones. The caller is authorised. It is mailed too, if the account has a confirmed address. */
export async function createPasswordReset(ctx: TransactionCtx, user: UserRow): Promise<PasswordReset> {
  await checkPasswordSignIn(ctx)
  await deletePasswordResets(ctx.db, user.id)
  return insertPasswordReset(ctx, user)
}

async function insertPasswordReset(ctx: TransactionCtx, user: UserRow): Promise<PasswordReset> {
  const secret = newLinkSecret()
  const expiresAt = new Date(ctx.now().getTime() + PASSWORD_RESET_TTL_MS)
  const url = `${ctx.baseUrl}/app/reset-password#${secret}`
  await store.insertPasswordReset(ctx.db, { hash: tokenHash(secret), user_id: user.id, expires_at: expiresAt })
  const isMailed = user.email !== null && (await enqueueMail(ctx, passwordMail(user, user.email, url)))
  return { userId: user.id, url, expiresAt, mailedTo: isMailed ? user.email : null }
}

function passwordMail({ username, password_hash: hash }: UserRow, to: string, url: string) {
  const verb = hash === null ? 'Set' : 'Reset'
  return {
    to,
    subject: `${verb} your Groundstate password`,
    text:
      `Follow the link to set a new password for the account ${username}. It works once, within 24 hours.\n\n` +
      'If you did not expect this mail, ignore it: your password does not change.',
    link: { label: `${verb} password`, url },
  }
}

/** The account of a link. Throws `not-found` for a link that was used, replaced or has expired, or `too-many-requests`. */
export async function requirePasswordReset(ctx: Ctx, secret: string) {
  await checkPasswordSignIn(ctx)
  const user = await store.findPasswordReset(ctx.db, tokenHash(secret), ctx.now())
  if (!user) {
    await countUnknownLink(ctx)
    throw invalidLink()
  }
  if (user.suspended_at) throw forbidden('this account is suspended, ask an administrator of this server')
  return user
}

/** An unknown one-time link. */
export function invalidLink() {
  return new AppError('not-found', [{ detail: 'the link has expired, was used or replaced: ask for a new one' }])
}

/** Sets the password of a link's account and ends its sessions; two-factor authentication and API tokens stay. */
export async function resetPassword(ctx: Ctx, { secret, password }: SetPassword) {
  const user = await requirePasswordReset(ctx, secret)
  const passwordHash = await hashPassword(password)
  // The request is anonymous; the audit trail names the user.
  await transact({ ...ctx, actor: userActor(user) }, async (ctx) => {
    if (!(await store.deletePasswordReset(ctx.db, tokenHash(secret)))) throw invalidLink()
    await updateUser(ctx, user.id, { password_hash: passwordHash, auth_method: 'password' })
    await endSessions(ctx, user.id)
    await forgetAttempts(ctx, user.id)
    await recordAudit(ctx, userAudit('reset_password', user))
  })
}
