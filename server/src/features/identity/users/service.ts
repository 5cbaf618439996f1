import type { Ctx } from '../../../app.ts'
import { isUniqueViolation } from '../../../db/db.ts'
import { invalid, notFound } from '../../../errors.ts'
import { userResource } from './resource.ts'
import * as store from './store.ts'

type NewUser = {
  username: string
  email: string | null
  unconfirmedEmail?: string
  passwordHash: string | null
  isSiteAdmin?: boolean
}

/** Creates an account. The caller is authorised and has verified `email`. Without a password it is for single sign-on. Throws `invalid`. */
export async function createUser(ctx: Ctx, input: NewUser) {
  const now = ctx.now()
  return checkUnique(
    store.insertUser(ctx.db, {
      id: ctx.newId('user'),
      username: input.username,
      email: input.email,
      unconfirmed_email: input.unconfirmedEmail ?? null,
      password_hash: input.passwordHash,
      auth_method: input.passwordHash === null ? 'sso' : 'password',
      is_site_admin: input.isSiteAdmin ?? false,
      created_at: now,
      updated_at: now,
    }),
  )
}

/** Changes an account. The caller is authorised and has verified `email`. Throws `not-found`, or `invalid` for a taken name or address. */
export async function updateUser(ctx: Ctx, id: string, changes: Omit<Parameters<typeof store.updateUser>[2], 'id'>) {
  // A confirmed address replaces the account's unconfirmed one. Claims of other accounts to it stay, since their end would reveal the account.
  const confirmed = typeof changes.email === 'string' && { unconfirmed_email: null }
  const row = await checkUnique(store.updateUser(ctx.db, id, { ...changes, ...confirmed, updated_at: ctx.now() }))
  if (!row) throw notFound('user')
  // A link to set the password must not outlive the password, or the address to which it was mailed.
  if (ENDS_LINKS.some((column) => changes[column] !== undefined)) await store.deletePasswordResets(ctx.db, id)
  return row
}

const ENDS_LINKS = ['email', 'password_hash', 'auth_method', 'suspended_at'] as const

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

/** The users with those ids. Checks no permission: readers of a resource may read the name of its creator. */
export async function includedUsers(ctx: Ctx, ids: readonly (string | null)[]) {
  const known = ids.filter((id) => id !== null)
  return (await store.listUsersByIds(ctx.db, known)).map((row) => userResource(row, ctx))
}
