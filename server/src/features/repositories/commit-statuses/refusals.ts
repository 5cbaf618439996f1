import type { Ctx } from '../../../app.ts'
import { isUnavailable, transact } from '../../../db/db.ts'
import { HostError } from '../../../vcs-hosts/host.ts'
import { type Connection, subjectOf } from '../connections/connection.ts'
import { recordVcsEvent } from '../vcs-events/record.ts'
import * as store from './store.ts'

const ACTIONS = {
  status: 'set statuses of commits in',
  comment: 'comment on pull requests of',
} as const satisfies Record<store.Reporting, string>

type Refused = { repository: { id: string; identifier: string }; what: store.Reporting; message: string }

/** Records in the log of the connection that its host refuses statuses or comments: once, until it accepts one again. */
export async function recordRefusal(ctx: Ctx, { row }: Connection, { repository, what, message }: Refused) {
  await transact(ctx, async (ctx) => {
    if (!(await store.setRefusal(ctx.db, repository.id, { what, message }))) return
    const suggestedAction = `Let the connection ${ACTIONS[what]} ${repository.identifier}`
    await recordVcsEvent(ctx, { ...subjectOf(row), level: 'error', message, suggestedAction })
  })
}

/** Why a status or comment is given up until something changes; undefined if another attempt may succeed. An error of ours is logged. */
export function lastingProblem(ctx: Ctx, error: unknown) {
  if (error instanceof HostError)
    return error.kind === 'forbidden' || error.kind === 'not-found' ? error.message : undefined
  if (isUnavailable(error)) return undefined
  ctx.log.error({ err: error }, 'a commit status or comment could not be sent')
  return 'an error of the server, which its log has'
}

export async function recordAcceptance(ctx: Ctx, repositoryId: string, what: store.Reporting) {
  await store.setRefusal(ctx.db, repositoryId, { what, message: null })
}
