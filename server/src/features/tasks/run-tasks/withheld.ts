import type { Ctx } from '../../../app.ts'
import { isSiteAdmin } from '../../../auth/actor.ts'

type Answer = {
  status: number
  headers: Record<string, string | string[]>
  body: string
  'is-truncated': boolean
}

/** The answer of a receiver as it is shown; of one that is hidden, only the status. */
export function shownAnswer(answer: Answer, { isHidden }: { isHidden: boolean }) {
  const shown = isHidden ? { status: answer.status, headers: {}, body: '', 'is-truncated': false } : answer
  return { ...shown, 'is-withheld': isHidden }
}

/**
 * Whether the actor may not read what a private address has answered, but for the status. Who manages the tasks of an organization
 * could otherwise look around in the network of the server.
 */
export function isWithheld({ actor }: Pick<Ctx, 'actor'>, { isPrivate }: { isPrivate: boolean }) {
  return isPrivate && !isSiteAdmin(actor)
}
