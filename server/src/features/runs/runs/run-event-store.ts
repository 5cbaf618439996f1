import type { Insertable } from 'kysely'
import type { Ctx } from '../../../app.ts'
import { actorUserId } from '../../../auth/actor.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { insertRows } from '../../../db/sql.ts'

export function runEventsInsert(db: Db, rows: readonly EventRow[]) {
  return insertRows(db, 'run_events', rows)
}

export type NewRunEvent = {
  action: string
  description?: string | null
  commentId?: string | null
  /** The caller by default. */
  actorUserId?: string | null
}

type EventRow = Insertable<Schema['run_events']>
type EventCtx = Pick<Ctx, 'newId' | 'now' | 'actor'>

export function runEventRow(ctx: EventCtx, runId: string, event: NewRunEvent): EventRow {
  return {
    id: ctx.newId('re'),
    run_id: runId,
    action: event.action,
    description: event.description ?? null,
    actor_user_id: event.actorUserId === undefined ? actorUserId(ctx.actor) : event.actorUserId,
    comment_id: event.commentId ?? null,
    created_at: ctx.now(),
  }
}

export async function insertCommentRow(tx: Tx, row: Insertable<Schema['comments']>) {
  await tx.insertInto('comments').values(row).execute()
}
