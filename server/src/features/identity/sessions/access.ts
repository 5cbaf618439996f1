import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import * as store from './store.ts'

/** The session that the request came with. Throws `not-found` when it came with an API token. */
export async function requireCurrentSession(ctx: Ctx) {
  const id = currentSessionId(ctx)
  const session = id === undefined ? undefined : await store.findSession(ctx.db, id)
  if (!session) throw notFound('session')
  return session
}

export function currentSessionId({ actor }: Ctx) {
  return actor.kind === 'user' ? actor.sessionId : undefined
}
