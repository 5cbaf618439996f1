import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
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

export async function recordAcceptance(ctx: Ctx, repositoryId: string, what: store.Reporting) {
  await store.setRefusal(ctx.db, repositoryId, { what, message: null })
}
