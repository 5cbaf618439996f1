import type { CommentResource } from '@groundstate/contract/run-events'
import type { CommentRow } from './store.ts'

export function commentResource(comment: CommentRow): CommentResource {
  const { run_event_id: eventId, created_by_user_id: userId } = comment
  return {
    id: comment.id,
    type: 'comments',
    attributes: { body: comment.body, 'created-at': comment.created_at },
    relationships: {
      'run-event': { data: eventId === null ? null : { id: eventId, type: 'run-events' } },
      'created-by': { data: userId === null ? null : { id: userId, type: 'users' } },
    },
    links: { self: `/api/v2/comments/${comment.id}` },
  }
}
