import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { announceAccess } from '../../../changes/announce.ts'
import { notFound } from '../../../errors.ts'
import { userAudit } from '../users/audit.ts'
import { requireCurrentSession } from './access.ts'
import * as store from './store.ts'

/** Signs out: ends the session that the request came with. */
export async function endCurrentSession(ctx: Ctx) {
  const session = await requireCurrentSession(ctx)
  const { actor } = ctx
  const username = actor.kind === 'user' ? actor.username : ''
  const event = userAudit('sign_out', { id: session.user_id, username }, { session: session.id })
  await audited(ctx, event, (ctx) => store.deleteSessions(ctx.db, session.user_id, { id: session.id }))
}

/** Ends one session of a user. Throws `not-found` when the user has no such session. */
export async function endSession(ctx: Ctx, userId: string, id: string) {
  if ((await store.deleteSessions(ctx.db, userId, { id })) === 0) throw notFound('session')
  announceAccess(ctx)
}

/** Ends all sessions of a user, `except` one when it is given. */
export async function endSessions(ctx: Ctx, userId: string, except?: string) {
  await store.deleteSessions(ctx.db, userId, { except })
  announceAccess(ctx)
}
