import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { forbidden } from '../../../errors.ts'
import { randomText } from '../../../ids.ts'
import { endSessions } from '../../identity/sessions/end.ts'
import { removeTwoFactor } from '../../identity/sessions/manage-two-factor.ts'
import { userAudit } from '../../identity/users/audit.ts'
import { createUser } from '../../identity/users/create.ts'
import { type UserRow, findUser, findUserByLogin } from '../../identity/users/store.ts'
import { updateUser } from '../../identity/users/update.ts'
import { type Claims, usernameOf, verifiedEmail } from './claims.ts'
import * as store from './store.ts'

/**
 * The account of a person at the provider. At the first sign-in it is the account that has their address, if
 * the provider has verified that, else a new one; never an account by its name alone.
 */
export async function ensureAccount(ctx: TransactionCtx, identity: store.Identity, claims: Claims): Promise<UserRow> {
  const now = ctx.now()
  const known = await store.findIdentity(ctx.db, identity)
  if (known) {
    await store.touchIdentity(ctx.db, identity, now)
    const user = await findUser(ctx.db, known.user_id)
    if (user) return user
  }
  const email = verifiedEmail(claims)
  const existing = email === undefined ? undefined : await findUserByLogin(ctx.db, email)
  if (existing && (await store.hasIdentity(ctx.db, identity.issuer, existing.id))) {
    // Addresses are handed on to newcomers; accounts are not.
    throw forbidden(
      'the account with your address belongs to somebody else at the identity provider: ask an administrator',
    )
  }
  const user = existing
    ? await convertAccount(ctx, existing.id)
    : await createUser(ctx, { username: await freeUsername(ctx, claims), email: email ?? null, passwordHash: null })
  // Linking gives a person access to an existing account, so it has an action of its own in the audit trail.
  await recordAudit(ctx, userAudit(existing ? 'link_identity' : 'create', user, { via: 'sign-on' }))
  await store.insertIdentity(ctx.db, identity, { userId: user.id, now })
  return user
}

/**
 * Makes an account one of sign-on: what it signed in with before ends, so that nothing gets around what the provider asks
 * for. Its API tokens stay.
 */
async function convertAccount(ctx: TransactionCtx, id: string) {
  await removeTwoFactor(ctx, id)
  await endSessions(ctx, id)
  return updateUser(ctx, id, { auth_method: 'sso', password_hash: null, unconfirmed_email: null })
}

async function freeUsername(ctx: Ctx, claims: Claims) {
  const username = usernameOf(claims)
  return (await findUserByLogin(ctx.db, username)) ? `${username}-${randomText(6)}` : username
}
