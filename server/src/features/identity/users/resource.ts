import type { UserResource } from '@groundstate/contract/users'
import type { UserRow } from './store.ts'

/** The path of a user's picture, which anybody may load. */
export function avatarPath(userId: string) {
  return `/avatars/${userId}.svg`
}

/** A user as others see them: a name and a picture (INTERFACE §3.1). `baseUrl` is the server's own address. */
export function userResource(row: UserRow, baseUrl: string): UserResource {
  return {
    id: row.id,
    type: 'users',
    attributes: {
      username: row.username,
      'is-service-account': row.is_service_account,
      'auth-method': row.auth_method,
      'avatar-url': `${baseUrl}${avatarPath(row.id)}`,
      'v2-only': false,
      permissions: userPermissions(row),
    },
    relationships: {
      'authentication-tokens': { links: { related: `/api/v2/users/${row.id}/authentication-tokens` } },
    },
    links: { self: `/api/v2/users/${row.id}` },
  }
}

/**
 * What users may do with their own accounts. With single sign-on the provider sets name and address; teams have
 * neither.
 */
export function userPermissions(row: UserRow) {
  return {
    'can-create-organizations': !row.is_service_account,
    'can-change-email': row.auth_method === 'password',
    'can-change-username': row.auth_method === 'password',
  }
}
