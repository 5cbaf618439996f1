import type { CreateSession } from '@groundstate/contract/sessions'
import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { recordAudit, audited } from '../../../audit/record.ts'
import { userActor } from '../../../auth/actor.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import { announceAccess } from '../../../changes/announce.ts'
import { transact } from '../../../db/db.ts'
import { AppError, forbidden, invalid, unauthorized, notFound } from '../../../errors.ts'
import { jobHandler } from '../../../handlers.ts'
import { SESSION_COOKIE } from '../../../http/authenticate.ts'
import { basePath } from '../../../http/base-path.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { signInFailures } from '../../../metrics.ts'
import { verifyPassword } from '../../../secrets/passwords.ts'
import { userAudit } from '../users/resource.ts'
import { type UserRow, findUserByLogin } from '../users/store.ts'
import { countAttempt, resetAttempts, ATTEMPT_LIMITS, KNOWN_ADDRESS_TTL_MS } from './count-attempts.ts'
import { TRIAL_KEPT_MS, signInMethods } from './sign-in-settings.ts'
import * as store from './store.ts'
import { consumeCode } from './two-factor.ts'

export async function checkPasswordSignIn(ctx: Ctx) {
  if (!(await signInMethods(ctx)).password) throw forbidden('sign-in with a password is disabled on this server')
}

/** Verifies a password, as slowly for an unknown login. Throws `unauthorized`, which does not reveal which was wrong, or `too-many-requests`. */
export async function checkPassword(ctx: Ctx, login: string, password: string): Promise<UserRow> {
  await checkPasswordSignIn(ctx)
  const user = await findUserByLogin(ctx.db, login)
  const attempt = await countAttempt(ctx, user?.id ?? login)
  const isRight = await verifyPassword(password, user?.password_hash ?? undefined)
  if (!user || !isRight) {
    await recordFailedSignIn(ctx, user, 'password')
    throw unauthorized('wrong username or password')
  }
  if (user.suspended_at) {
    await recordFailedSignIn(ctx, user, 'suspended')
    throw forbidden('this account is suspended, ask an administrator of this server')
  }
  await resetAttempts(ctx, user.id, attempt)
  return user
}

/** As `checkPassword`, and checks the two-factor code where the account has one. Throws `unauthorized` at `otp` for the code. */
export async function checkCredentials(ctx: Ctx, input: CreateSession): Promise<UserRow> {
  const user = await checkPassword(ctx, input.username ?? input.email ?? '', input.password)
  if (!(await store.hasTwoFactor(ctx.db, user.id))) return user
  if (input.otp === undefined || input.otp === '') throw codeError('a code from your authenticator is required')
  await checkCode(ctx, user, input.otp)
  return user
}

/** Throws `unauthorized` with a source at `otp` for a wrong code, and records the failure. */
export async function checkCode(ctx: Ctx, user: UserRow, code: string) {
  if (await consumeCode(ctx, user.id, code)) return
  await recordFailedSignIn(ctx, user, 'two-factor authentication')
  throw codeError('the code is wrong or was already used')
}

/** Verifies the password of a signed-in user again. Throws `invalid` at `pointer`, or `too-many-requests`. */
export async function checkOwnPassword(ctx: Ctx, user: UserRow, password: string, pointer: string) {
  const attempt = await countAttempt(ctx, user.id)
  if (user.password_hash === null || !(await verifyPassword(password, user.password_hash))) {
    await recordFailedSignIn(ctx, user, 'current password')
    throw invalid('the current password is wrong', pointer)
  }
  await resetAttempts(ctx, user.id, attempt)
}

function codeError(detail: string) {
  return new AppError('unauthorized', [{ detail, source: { pointer: '/data/attributes/otp' } }])
}

/**
 * Records a failed sign-in or confirmation in the audit trail. Do not call it in a transaction that rolls back after the failure.
 * An unknown login is recorded too, so that it takes as long; its text is not, since users sometimes type a password there.
 */
export async function recordFailedSignIn(ctx: Ctx, user: UserRow | undefined, reason: string) {
  signInFailures.inc({ reason })
  const account = user ?? { id: 'unknown', username: 'unknown' }
  await transact(ctx, async (ctx) => recordAudit(ctx, userAudit('sign_in_failed', account, { reason })))
}

/** Limits of a session. Organizations may require less only for access to themselves (`checkSignInPolicy`), not end sessions of invited users. */
const IDLE_MINUTES = 14 * 24 * 60
const LIFE_MINUTES = 30 * 24 * 60

export type OpenedSession = { session: store.SessionRow; user: UserRow; setCookie: string }

export async function createSession(ctx: Ctx, input: CreateSession): Promise<OpenedSession> {
  return openSession(ctx, await checkCredentials(ctx, input))
}

/** Throws `unauthorized` if the account was suspended or its password changed since `user` was read. */
export async function openSession(ctx: Ctx, user: UserRow): Promise<OpenedSession> {
  const text = newTokenText()
  const now = ctx.now()
  const id = ctx.newId('ses')
  // The request is anonymous; the audit trail names the user.
  const actor = userActor(user, id)
  const event = userAudit('sign_in', user, { session: id })
  const row = {
    id,
    hash: tokenHash(text),
    user_id: user.id,
    created_at: now,
    last_used_at: now,
    expires_at: new Date(now.getTime() + LIFE_MINUTES * 60_000),
    idle_minutes: IDLE_MINUTES,
    address: ctx.request?.address ?? null,
    user_agent: ctx.request?.userAgent?.slice(0, 500) ?? null,
  }
  const session = await audited({ ...ctx, actor }, event, async (ctx) => {
    if (!(await store.lockSignIn(ctx.db, user))) throw unauthorized('the account has changed, sign in again')
    return store.insertSession(ctx.db, row)
  })
  return { session, user, setCookie: sessionCookieHeader(ctx.baseUrl, text, LIFE_MINUTES * 60) }
}

export async function endCurrentSession(ctx: Ctx) {
  const session = await requireCurrentSession(ctx)
  const username = ctx.actor.kind === 'user' ? ctx.actor.username : ''
  const event = userAudit('sign_out', { id: session.user_id, username }, { session: session.id })
  await audited(ctx, event, (ctx) => store.deleteSessions(ctx.db, session.user_id, { id: session.id }))
}

export async function endSession(ctx: Ctx, userId: string, id: string) {
  if ((await store.deleteSessions(ctx.db, userId, { id })) === 0) throw notFound('session')
  announceAccess(ctx)
}

/** Ends all sessions of a user but `except`, and an unfinished enrollment in two-factor authentication. */
export async function endSessions(ctx: Ctx, userId: string, except?: string) {
  await store.deleteSessions(ctx.db, userId, { except })
  await store.deleteUnverifiedTwoFactor(ctx.db, userId)
  announceAccess(ctx)
}

/** The session cookie: not readable by scripts, and not sent with cross-site POST requests. */
function sessionCookieHeader(baseUrl: string, value: string, maxAgeSeconds: number) {
  const secure = baseUrl.startsWith('https:') ? '; Secure' : ''
  return `${SESSION_COOKIE}=${value}; Path=${basePath(baseUrl) || '/'}; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${secure}`
}

export function endedCookieHeader(baseUrl: string) {
  return sessionCookieHeader(baseUrl, '', 0)
}

/** The session of the request. Throws `not-found` for a request with an API token. */
export async function requireCurrentSession(ctx: Ctx) {
  const id = currentSessionId(ctx)
  const session = id === undefined ? undefined : await store.findSession(ctx.db, id)
  if (!session) throw notFound('session')
  return session
}

export function currentSessionId({ actor }: Ctx) {
  return actor.kind === 'user' ? actor.sessionId : undefined
}

export const sweepSessionsJob = jobKind('sessions.sweep', z.object({}), { concurrency: 1, retryLimit: 0 })
export const sessionJobs = [jobHandler(sweepSessionsJob, async (ctx) => sweepSessions(ctx), { schedule: '17 * * * *' })]

async function sweepSessions(ctx: Ctx) {
  const now = ctx.now()
  const ago = (ms: number) => new Date(now.getTime() - ms)
  await store.deleteOutdated(ctx.db, {
    now,
    attemptsBefore: ago(ATTEMPT_LIMITS.windowMs),
    placesBefore: ago(KNOWN_ADDRESS_TTL_MS),
    trialsBefore: ago(TRIAL_KEPT_MS),
  })
}
