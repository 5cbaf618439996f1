import type { Ctx } from '../../app.ts'
import * as store from './store.ts'

/** Creates an account. `passwordHash` is null for one that signs in elsewhere. */
export async function insertUser(
  ctx: Ctx,
  input: { username: string; email: string; passwordHash: string | null; isSiteAdmin?: boolean },
) {
  const now = ctx.now()
  return store.insertUser(ctx.db, {
    id: ctx.newId('user'),
    username: input.username,
    email: input.email,
    password_hash: input.passwordHash,
    auth_method: input.passwordHash === null ? 'sso' : 'password',
    is_site_admin: input.isSiteAdmin ?? false,
    created_at: now,
    updated_at: now,
  })
}
