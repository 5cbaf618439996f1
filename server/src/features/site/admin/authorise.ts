import type { Ctx } from '../../../app.ts'
import { isSiteAdmin } from '../../../auth/actor.ts'
import { notFound } from '../../../errors.ts'

/** Lets site administrators and the server itself pass; for all others there is nothing here. */
export function checkSiteAdmin(ctx: Ctx) {
  if (!isSiteAdmin(ctx.actor)) throw notFound('resource')
}
