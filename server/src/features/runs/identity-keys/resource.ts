import type { IdentityKeyResource } from '@groundstate/contract/identity-keys'
import type { IdentityKey } from './key-states.ts'

export function identityKeyResource(key: IdentityKey, isActivatable: boolean): IdentityKeyResource {
  const { row, state, retiresAt, expiresAt } = key
  return {
    id: row.id,
    type: 'identity-keys',
    attributes: {
      'key-id': row.key_id,
      algorithm: 'RS256',
      state,
      'created-at': row.created_at,
      'published-at': row.created_at,
      'activates-at': row.activates_at,
      'retires-at': retiresAt,
      'expires-at': expiresAt,
      actions: { 'is-activatable': isActivatable },
    },
    links: { self: '/api/v2/admin/identity-keys' },
  }
}
