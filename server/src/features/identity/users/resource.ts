import type { UserResource } from '@groundstate/contract/users'
import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import { isSiteAdmin } from '../../../auth/actor.ts'
import type { UserRow } from './store.ts'

/** The uploaded avatar, or a generated pattern. */
export function avatarPath({ id, avatar }: Pick<UserRow, 'id' | 'avatar'>) {
  return `/avatars/${avatar ?? `${id}.svg`}`
}

/** A user without private attributes (INTERFACE §3.1). */
export function userResource(row: UserRow, { actor, baseUrl }: Pick<Ctx, 'actor' | 'baseUrl'>): UserResource {
  const isOwn = actor.kind === 'user' && actor.userId === row.id && !row.is_service_account
  // With single sign-on the provider sets name and address.
  const mayChange = (isOwn && row.auth_method === 'password') || (isSiteAdmin(actor) && !row.is_service_account)
  return {
    id: row.id,
    type: 'users',
    attributes: {
      username: row.username,
      'is-service-account': row.is_service_account,
      'auth-method': row.auth_method,
      'avatar-url': `${baseUrl}${avatarPath(row)}`,
      'v2-only': false,
      permissions: {
        'can-create-organizations': isOwn,
        'can-change-email': mayChange,
        'can-change-username': mayChange,
      },
    },
    relationships: {
      'authentication-tokens': { links: { related: `/api/v2/users/${row.id}/authentication-tokens` } },
    },
    links: { self: `/api/v2/users/${row.id}` },
  }
}

export function userAudit(
  action: string,
  { id, username }: Pick<UserRow, 'id' | 'username'>,
  meta?: object,
): AuditEvent {
  return {
    organizationId: undefined,
    action,
    resource: { type: 'user', id },
    meta: { username, ...meta },
    notices: [],
    changesAccess: REDUCES_ACCESS.has(action),
  }
}

const REDUCES_ACCESS = new Set(['update', 'suspend', 'destroy', 'sign_out'])
