import type { Ctx } from '../../../app.ts'
import { isSiteAdmin } from '../../../auth/actor.ts'

type ApiResponse = {
  status: number
  headers: Record<string, string | string[]>
  body: string
  'is-truncated': boolean
}

/** The response of a receiver as it is shown; of one that is hidden, only the status. */
export function shownResponse(response: ApiResponse, { isHidden }: { isHidden: boolean }) {
  const shown = isHidden ? { status: response.status, headers: {}, body: '', 'is-truncated': false } : response
  return { ...shown, 'is-withheld': isHidden }
}

/**
 * Whether the actor may not read what a private address has answered, but for the status. Who manages the tasks of an organization
 * could otherwise look around in the network of the server.
 */
export function isWithheld({ actor }: Pick<Ctx, 'actor'>, { isPrivate }: { isPrivate: boolean }) {
  return isPrivate && !isSiteAdmin(actor)
}
