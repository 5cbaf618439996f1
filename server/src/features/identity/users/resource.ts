import type { UserResource } from '@groundstate/contract/users'
import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import { isSiteAdmin } from '../../../auth/actor.ts'
import type { Loader } from '../../../http/loaders.ts'
import { type UserRow, listUsersByIds } from './store.ts'

/** The path of a user's picture, which anyone may load. */
export function avatarPath(userId: string) {
  return `/avatars/${userId}.svg`
}

/** The actor, and the server's base URL. */
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
function userPermissions(row: UserRow, actor: Ctx['actor']) {
  const isOwn = actor.kind === 'user' && actor.userId === row.id && !row.is_service_account
  const mayChange = (isOwn && row.auth_method === 'password') || (isSiteAdmin(actor) && !row.is_service_account)
  return {
    'can-create-organizations': isOwn,
    'can-change-email': mayChange,
    'can-change-username': mayChange,
  }
}

export const userLoaders: readonly Loader[] = [{ type: 'users', load: includedUsers }]

/**
 * The users with those ids, in one query. Null ids and deleted users are left out. It checks no permission: an actor
 * that may read a resource may read the name of its creator.
 */
export async function includedUsers(ctx: Ctx, ids: readonly (string | null)[]) {
  const rows = await listUsersByIds(
    ctx.db,
    ids.filter((id) => id !== null),
  )
  return rows.map((row) => userResource(row, ctx))
}

/** The audit event of a change of an account. Accounts belong to no organization. */
export function userAudit(
  action: string,
  user: { id: string; username: string },
  meta: Record<string, unknown> = {},
): AuditEvent {
  const { id, username } = user
  return {
    organizationId: undefined,
    action,
    resource: { type: 'user', id },
    meta: { username, ...meta },
    notices: [],
    changesAccess: ENDS_ACCESS.has(action),
  }
}

/** The actions after which the account has less access, or none. */
const ENDS_ACCESS = new Set(['update', 'suspend', 'destroy', 'sign_out'])
