import type { CreateSession } from '@groundstate/contract/sessions'
import type { Ctx } from '../../../app.ts'
import { userActor } from '../../../auth/actor.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import { notFound } from '../../../errors.ts'
import { userAudit } from '../users/service.ts'
import { ATTEMPT_LIMITS } from './attempts.ts'
import { sessionCookieHeader } from './cookie.ts'
import { checkCredentials } from './methods.ts'
import * as store from './store.ts'
import { audited } from '../../../audit/record.ts'
import type { UserRow } from '../users/store.ts'
/**
 * A session ends after two weeks without use, and after a month in any case. An organization that asks for less does so for
 * itself alone (`checkDemands`): it could end the sessions of people whom it has merely invited.
 */
const IDLE_MINUTES = 14 * 24 * 60
const LIFE_MINUTES = 30 * 24 * 60

export type OpenedSession = { session: store.SessionRow; user: UserRow; setCookie: string }

/** Signs in with a password and, where the account has one, the second factor. */
export async function createSession(ctx: Ctx, input: CreateSession): Promise<OpenedSession> {
  return openSession(ctx, await checkCredentials(ctx, input))
}

/** Opens a session for an account that some method of signing in has established. */
export async function openSession(ctx: Ctx, user: UserRow): Promise<OpenedSession> {
  const text = newTokenText()
  const now = ctx.now()
  const id = ctx.newId('ses')
  // Whoever signs in is nobody before, and is the one who did it afterwards.
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

/** The session of this very request. Throws `not-found` when it came with an API token. */
export async function requireCurrentSession(ctx: Ctx) {
  const id = ctx.actor.kind === 'user' ? ctx.actor.sessionId : undefined
  const session = id === undefined ? undefined : await store.findSession(ctx.db, id)
  if (!session) throw notFound('session')
  return session
}

export async function deleteCurrentSession(ctx: Ctx) {
  const session = await requireCurrentSession(ctx)
  const { actor } = ctx
  const username = actor.kind === 'user' ? actor.username : ''
  const event = userAudit('sign_out', { id: session.user_id, username }, { session: session.id })
  await audited(ctx, event, (ctx) => store.deleteSessions(ctx.db, session.user_id, { id: session.id }))
}

export async function listSessions(ctx: Ctx, userId: string) {
  return store.listSessions(ctx.db, userId, ctx.now())
}

/** Ends one session of a user. Throws `not-found` when the user has no such session. */
export async function endSession(ctx: Ctx, userId: string, id: string) {
  if ((await store.deleteSessions(ctx.db, userId, { id })) === 0) throw notFound('session')
}

/** Ends all sessions of a user, `except` one when it is given. */
export async function endSessions(ctx: Ctx, userId: string, except?: string) {
  await store.deleteSessions(ctx.db, userId, { except })
}

export async function sweepSessions(ctx: Ctx) {
  const now = ctx.now()
  await store.deleteEnded(ctx.db, { now, before: new Date(now.getTime() - ATTEMPT_LIMITS.windowMs) })
}
