import type { UserResource } from '@groundstate/contract/users'
import type { Ctx } from '../../../app.ts'
import { isSiteAdmin } from '../../../auth/actor.ts'
import type { UserRow } from './store.ts'

/** The path of a user's picture, which anybody may load. */
export function avatarPath(userId: string) {
  return `/avatars/${userId}.svg`
}

/** Who asks, and the server's own address. */
export type Viewer = Pick<Ctx, 'actor' | 'baseUrl'>

/** A user as others see them: a name and a picture (INTERFACE §3.1). */
export function userResource(row: UserRow, { actor, baseUrl }: Viewer): UserResource {
  return {
    id: row.id,
    type: 'users',
    attributes: {
      username: row.username,
      'is-service-account': row.is_service_account,
      'auth-method': row.auth_method,
      'avatar-url': `${baseUrl}${avatarPath(row.id)}`,
      'v2-only': false,
      permissions: userPermissions(row, actor),
    },
    relationships: {
      'authentication-tokens': { links: { related: `/api/v2/users/${row.id}/authentication-tokens` } },
    },
    links: { self: `/api/v2/users/${row.id}` },
  }
}

/**
 * What the actor may do with the account: people with their own, and site administrators with those of all people. With
 * single sign-on the provider sets name and address; teams have neither.
 */
export function userPermissions(row: UserRow, actor: Ctx['actor']) {
  const isOwn = actor.kind === 'user' && actor.userId === row.id && !row.is_service_account
  const mayChange = (isOwn && row.auth_method === 'password') || (isSiteAdmin(actor) && !row.is_service_account)
  return {
    'can-create-organizations': isOwn,
    'can-change-email': mayChange,
    'can-change-username': mayChange,
  }
}
