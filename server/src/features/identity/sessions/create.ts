import type { CreateSession } from '@groundstate/contract/sessions'
import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { userActor } from '../../../auth/actor.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import { userAudit } from '../users/audit.ts'
import type { UserRow } from '../users/store.ts'
import { checkCredentials } from './check-credentials.ts'
import { sessionCookieHeader } from './cookie.ts'
import * as store from './store.ts'

/**
 * A session ends after two weeks without use, and after a month in any case. An organization may require less, but only
 * for access to itself (`checkDemands`): otherwise it could end the sessions of people whom it has merely invited.
 */
const IDLE_MINUTES = 14 * 24 * 60
const LIFE_MINUTES = 30 * 24 * 60

export type OpenedSession = { session: store.SessionRow; user: UserRow; setCookie: string }

/** Signs in with a password and, where the account has one, two-factor authentication. */
export async function createSession(ctx: Ctx, input: CreateSession): Promise<OpenedSession> {
  return openSession(ctx, await checkCredentials(ctx, input))
}

/** Opens a session for an account whose owner has signed in, in whatever way. */
export async function openSession(ctx: Ctx, user: UserRow): Promise<OpenedSession> {
  const text = newTokenText()
  const now = ctx.now()
  const id = ctx.newId('ses')
  // The request is anonymous. The audit trail names the user who signs in.
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
