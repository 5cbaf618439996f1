import type { TokenResource } from '@groundstate/contract/tokens'
import type { TokenRow } from './store.ts'

/** A token of any kind. `text` is its secret, part only of the response to its creation. */
export function tokenResource(row: TokenRow, text?: string): TokenResource {
  const relationships: TokenResource['relationships'] = {
    'created-by': { data: row.created_by_user_id === null ? null : { id: row.created_by_user_id, type: 'users' } },
  }
  if (row.kind === 'team' && row.team_id !== null) relationships.team = { data: { id: row.team_id, type: 'teams' } }
  return {
    id: row.id,
    type: 'authentication-tokens',
    attributes: {
      'created-at': row.created_at,
      'last-used-at': row.last_used_at,
      'expired-at': row.expires_at,
      description: row.description,
      token: text ?? null,
    },
    relationships,
    links: { self: `/api/v2/authentication-tokens/${row.id}` },
  }
}
