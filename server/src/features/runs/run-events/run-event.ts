import type { Insertable } from 'kysely'
import type { Ctx } from '../../../app.ts'
import { actorUserId } from '../../../auth/actor.ts'
import type { Schema } from '../../../db/schema.gen.ts'

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
