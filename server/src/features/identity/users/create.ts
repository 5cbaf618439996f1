import type { Ctx } from '../../../app.ts'
import * as store from './store.ts'
import { checkUnique } from './unique.ts'

/**
 * Creates an account for a caller that is authorised already. `passwordHash` is null for an account that signs in with
 * another service. The caller has established that `email` belongs to the person, so other accounts lose an unconfirmed
 * claim to it. Throws `invalid` for a username or an address that is taken.
 */
export async function createUser(
  ctx: Ctx,
  input: { username: string; email: string | null; passwordHash: string | null; isSiteAdmin?: boolean },
) {
  const now = ctx.now()
  const row = await checkUnique(
    store.insertUser(ctx.db, {
      id: ctx.newId('user'),
      username: input.username,
      email: input.email,
      password_hash: input.passwordHash,
      auth_method: input.passwordHash === null ? 'sso' : 'password',
      is_site_admin: input.isSiteAdmin ?? false,
      created_at: now,
      updated_at: now,
    }),
  )
  if (input.email !== null) await store.clearUnconfirmed(ctx.db, input.email)
  return row
}
