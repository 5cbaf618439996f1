import type { SessionResource, SignInMethodsResource } from '@groundstate/contract/sessions'
import type { SessionRow } from './store.ts'

/** A browser's session. Using it postpones `expires-at`. `currentId` is the session that the request came with. */
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

export function signInMethodsResource(methods: SignInMethods): SignInMethodsResource {
  return { id: 'sign-in', type: 'sign-in-methods', attributes: methods }
}

export type SignInMethods = {
  password: boolean
  /** The identity provider to sign in with: its display name, and the path to open. */
  sso: { name: string; url: string } | null
}
