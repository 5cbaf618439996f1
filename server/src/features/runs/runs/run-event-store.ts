import type { Insertable } from 'kysely'
import type { Ctx } from '../../../app.ts'
import { actorUserId } from '../../../auth/actor.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'

/** The statement that inserts events, to be run alone or along with others. */
export function runEventsInsert(db: Db, rows: readonly Insertable<Schema['run_events']>[]) {
  return db.insertInto('run_events').values([...rows])
}

export type NewRunEvent = {
  action: string
  description?: string | null
  commentId?: string | null
  /** Without it the event is that of the caller. */
  actorUserId?: string | null
}

export function runEventRow(
  ctx: Pick<Ctx, 'newId' | 'now' | 'actor'>,
  runId: string,
  event: NewRunEvent,
): Insertable<Schema['run_events']> {
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
