import type { RunEventResource } from '@groundstate/contract/run-events'
import type { RunEventRow } from './store.ts'

export function runEventResource(event: RunEventRow): RunEventResource {
  return {
    id: event.id,
    type: 'run-events',
    attributes: { action: event.action, description: event.description, 'created-at': event.created_at },
    relationships: {
      run: { data: { id: event.run_id, type: 'runs' } },
      actor: { data: event.actor_user_id === null ? null : { id: event.actor_user_id, type: 'users' } },
      comment: { data: event.comment_id === null ? null : { id: event.comment_id, type: 'comments' } },
    },
    links: { self: `/api/v2/run-events/${event.id}` },
  }
}
