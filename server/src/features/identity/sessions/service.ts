import type { CreateSession } from '@groundstate/contract/sessions'
import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { userActor } from '../../../auth/actor.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import { announceAccess } from '../../../changes/announce.ts'
import { notFound } from '../../../errors.ts'
import { jobHandler } from '../../../handlers.ts'
import { SESSION_COOKIE } from '../../../http/authenticate.ts'
import { basePath } from '../../../http/base-path.ts'
import { userAudit } from '../users/resource.ts'
import type { UserRow } from '../users/store.ts'
import { ATTEMPT_LIMITS, KNOWN_ADDRESS_TTL_MS, sweepSessionsJob } from './count-attempts.ts'
import { checkCredentials } from './credentials.ts'
import * as store from './store.ts'

/**
 * A session ends after two weeks without use, and after a month in any case. An organization may require less, but only for access to
 * itself (`checkSignInPolicy`): otherwise it could end the sessions of users whom it has merely invited.
 */
const IDLE_MINUTES = 14 * 24 * 60
const LIFE_MINUTES = 30 * 24 * 60

export type OpenedSession = { session: store.SessionRow; user: UserRow; setCookie: string }

export async function createSession(ctx: Ctx, input: CreateSession): Promise<OpenedSession> {
  return openSession(ctx, await checkCredentials(ctx, input))
}

/** Opens a session for a user who has authenticated. */
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
  const session = await audited({ ...ctx, actor }, event, (ctx) => store.insertSession(ctx.db, row))
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

/** Ends all sessions of a user but `except`. */
export async function endSessions(ctx: Ctx, userId: string, except?: string) {
  await store.deleteSessions(ctx.db, userId, { except })
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

export const sessionJobs = [jobHandler(sweepSessionsJob, async (ctx) => sweepSessions(ctx), { schedule: '17 * * * *' })]

async function sweepSessions(ctx: Ctx) {
  const now = ctx.now()
  const ago = (ms: number) => new Date(now.getTime() - ms)
  await store.deleteExpiredSessions(ctx.db, now)
  await store.deleteAttemptsBefore(ctx.db, ago(ATTEMPT_LIMITS.windowMs))
  await store.deleteSignInPlacesBefore(ctx.db, ago(KNOWN_ADDRESS_TTL_MS))
}
