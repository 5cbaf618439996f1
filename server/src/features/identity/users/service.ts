import type { Ctx } from '../../../app.ts'
import { isUniqueViolation } from '../../../db/db.ts'
import { invalid, notFound } from '../../../errors.ts'
import * as store from './store.ts'

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

/**
 * Changes an account for a caller that is authorised already. As in `createUser`, an `email` is known to belong to the
 * person. Throws `not-found` when the account is gone, `invalid` for a username or an address that is taken.
 */
export async function updateUser(ctx: Ctx, id: string, changes: Omit<Parameters<typeof store.updateUser>[2], 'id'>) {
  const email = changes.email ?? undefined
  // The new address settles any unconfirmed one.
  const settled = email === undefined ? {} : { unconfirmed_email: null }
  const row = await checkUnique(store.updateUser(ctx.db, id, { ...changes, ...settled, updated_at: ctx.now() }))
  if (!row) throw notFound('user')
  if (email !== undefined) await store.clearUnconfirmed(ctx.db, email)
  return row
}

/** Awaits a change of an account. Throws `invalid` when its username or e-mail address belongs to another account. */
async function checkUnique<T>(change: Promise<T>) {
  try {
    return await change
  } catch (error) {
    if (isUniqueViolation(error, 'users_username_key'))
      throw invalid('Username has already been taken', '/data/attributes/username')
    if (isUniqueViolation(error, 'users_email_key'))
      throw invalid('Email has already been taken', '/data/attributes/email')
    throw error
  }
}
