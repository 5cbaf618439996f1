import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import * as store from './store.ts'
import { checkUnique } from './unique.ts'

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
