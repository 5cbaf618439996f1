import type { Ctx } from '../../app.ts'
import { notFound } from '../../errors.ts'

/** Lets site administrators and the server itself pass; for all others there is nothing here. */
export function checkSiteAdmin(ctx: Ctx) {
  const { actor } = ctx
  const isAllowed =
    actor.kind === 'system' || (actor.kind === 'user' && actor.isSiteAdmin && actor.teamId === undefined)
  if (!isAllowed) throw notFound('resource')
}
