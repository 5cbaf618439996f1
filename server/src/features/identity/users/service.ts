import type { Ctx } from '../../../app.ts'
import type { UserActor } from '../../../auth/actor.ts'
import { isUniqueViolation } from '../../../db/db.ts'
import { invalid, notFound } from '../../../errors.ts'
import { userResource } from './resource.ts'
import * as store from './store.ts'

/**
 * Creates an account. `passwordHash` is null for one that signs in elsewhere. Somebody answers for `email`: whoever only said
 * that it is theirs loses it.
 */
export async function insertUser(
  ctx: Ctx,
  input: { username: string; email: string | null; passwordHash: string | null; isSiteAdmin?: boolean },
) {
  const now = ctx.now()
  const row = await translateTaken(
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

/** The user as an actor, for what is done later on their behalf; undefined for one that is gone or suspended. */
export async function findUserActor(ctx: Ctx, id: string): Promise<UserActor | undefined> {
  const user = await store.findUser(ctx.db, id)
  if (!user || user.suspended_at) return undefined
  const { username, is_site_admin: isSiteAdmin } = user
  return { kind: 'user', userId: id, username, isSiteAdmin, teamId: undefined, tokenId: undefined }
}

/**
 * Changes an account whose caller has been authorised. What is set as `email` is known to be the person's, as in
 * `insertUser`. Throws `not-found` when it is gone, `invalid` for a taken name.
 */
export async function updateUser(ctx: Ctx, id: string, changes: Omit<Parameters<typeof store.updateUser>[2], 'id'>) {
  const email = changes.email ?? undefined
  // Whatever else the person said is settled by this too.
  const settled = email === undefined ? {} : { unconfirmed_email: null }
  const row = await translateTaken(store.updateUser(ctx.db, id, { ...changes, ...settled, updated_at: ctx.now() }))
  if (!row) throw notFound('user')
  if (email !== undefined) await store.clearUnconfirmed(ctx.db, email)
  return row
}

async function translateTaken<T>(change: Promise<T>) {
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

/** What the audit trail keeps of a change of an account, which belongs to no organization. */
export function userAudit(action: string, user: { id: string; username: string }, meta: Record<string, unknown> = {}) {
  const { id, username } = user
  return { organizationId: undefined, action, resource: { type: 'user', id }, meta: { username, ...meta } }
}

/**
 * A user is visible to themself, to whoever shares an organization with them, to the tokens and runs of such an
 * organization, and to site administrators; the account of runs to all of these. Throws `not-found` for everyone else.
 */
export async function requireUser(ctx: Ctx, id: string) {
  const user = await store.findVisibleUser(ctx.db, ctx.actor, id)
  if (!user) throw notFound('user')
  return user
}

/**
 * The users of those ids as included resources, in one query; null ids and users that are gone are left out. Whoever may
 * see a resource may see the name of who made it, so this checks nothing.
 */
export async function includedUsers(ctx: Ctx, ids: readonly (string | null)[]) {
  const rows = await store.listUsersByIds(
    ctx.db,
    ids.filter((id) => id !== null),
  )
  return rows.map((row) => userResource(row, ctx.baseUrl))
}
