import type { Ctx } from '../../../app.ts'
import { isSiteAdmin } from '../../../auth/actor.ts'

/** What stands in place of the headers and the body of an answer that is withheld. */
export const WITHHELD = { headers: {}, body: '', 'is-truncated': false, 'is-withheld': true } as const

/**
 * Whether the actor may not read what a private address has answered, but for the status. Who manages the tasks of an organization could otherwise look
 * around in the network of the server.
 */
export function isWithheld({ actor }: Pick<Ctx, 'actor'>, { isPrivate }: { isPrivate: boolean }) {
  return isPrivate && !isSiteAdmin(actor)
}
