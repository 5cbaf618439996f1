import type { SessionResource } from '@groundstate/contract/sessions'
import type { SessionRow } from './store.ts'

/** A browser's session. Use postpones `expires-at`. `currentId` is the id of the request's session. */
export function sessionResource(row: SessionRow, currentId: string | undefined): SessionResource {
  const idleEnd = new Date(row.last_used_at.getTime() + row.idle_minutes * 60_000)
  return {
    id: row.id,
    type: 'sessions',
    attributes: {
      'created-at': row.created_at,
      'last-used-at': row.last_used_at,
      'expires-at': idleEnd < row.expires_at ? idleEnd : row.expires_at,
      address: row.address,
      'user-agent': row.user_agent,
      'is-current': row.id === currentId,
    },
    relationships: { user: { data: { id: row.user_id, type: 'users' } } },
  }
}
