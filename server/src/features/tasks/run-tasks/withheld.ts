import type { Ctx } from '../../../app.ts'
import { isSiteAdmin } from '../../../auth/actor.ts'

/** Stands in place of what a private address has answered. */
export const WITHHELD = 'what comes back from a private address is shown to site administrators only'

/**
 * Whether the actor may not learn what came of a request. Who manages the tasks of an organization could otherwise look
 * around in the network of the server.
 */
export function isWithheld({ actor }: Pick<Ctx, 'actor'>, { isPrivate }: { isPrivate: boolean }) {
  return isPrivate && !isSiteAdmin(actor)
}
