import type { App, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { SYSTEM, userActor } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { randomText } from '../../../ids.ts'
import { hashPassword } from '../../../secrets/passwords.ts'
import { createUserToken, replaceSettingToken } from '../../identity/tokens/create.ts'
import { userAudit } from '../../identity/users/audit.ts'
import { createUser } from '../../identity/users/create.ts'
import { findUserByLogin, type UserRow } from '../../identity/users/store.ts'
import { updateUser } from '../../identity/users/update.ts'
import { acceptInvitations } from '../../organizations/organization-memberships/accept-invitations.ts'
import { createOrganization } from '../../organizations/organizations/create.ts'
import * as store from './store.ts'

const FIRST_ADMIN = 'admin'
/** The examples use this name. */
const FIRST_ORGANIZATION = 'main'

/** The secrets of a new administrator, to be printed once: they cannot be read again. */
export type FirstAdmin = { created: boolean; username?: string; password?: string; token?: string }

/**
 * Ensures at start that the site has an administrator. Without one it creates an administrator with a generated
 * password and API token, and an organization, so that the first run needs no set-up. It returns both secrets. A token
 * in ADMIN_TOKEN replaces the generated one and is not returned; when it is set later, it is added for the first administrator,
 * and when it is changed, the former one ends. The administrator gets the address in ADMIN_EMAIL when there is none.
 * Processes that start at the same time take turns.
 */
export async function ensureAdmin(app: App): Promise<FirstAdmin> {
  const password = randomText(20)
  // Hashing is slow on purpose, and the database ends a transaction that is silent for long.
  const known = await store.findFirstSiteAdmin(app.db)
  const hashed = known ? undefined : await hashPassword(password)
  return transact({ ...app, actor: SYSTEM }, async (ctx) => {
    await store.lockSiteAdmins(ctx.db)
    const { adminToken: fixed, adminEmail: email } = ctx.config
    const existing = await store.findFirstSiteAdmin(ctx.db)
    if (existing) {
      if (fixed !== undefined) await replaceSettingToken(ctx, existing.id, { text: fixed, description: 'ADMIN_TOKEN' })
      await ensureEmail(ctx, existing)
      return { created: false }
    }

    const isTaken = (await findUserByLogin(ctx.db, FIRST_ADMIN)) !== undefined
    const username = isTaken ? `${FIRST_ADMIN}-${randomText(6)}` : FIRST_ADMIN
    const user = await createUser(ctx, {
      username,
      email: (await findUserByLogin(ctx.db, email)) === undefined ? email : null,
      passwordHash: hashed ?? (await hashPassword(password)),
      isSiteAdmin: true,
    })
    await recordAudit(ctx, userAudit('create', user, { 'is-admin': true }))
    await createOrganization({ ...ctx, actor: userActor(user) }, { name: FIRST_ORGANIZATION, email })
    if (fixed !== undefined) {
      await replaceSettingToken(ctx, user.id, { text: fixed, description: 'ADMIN_TOKEN' })
      return { created: true, username, password }
    }
    const { text } = await createUserToken(ctx, user.id, { description: 'first start' })
    return { created: true, username, password, token: text }
  })
}

/** An administrator of an earlier version has no address. One that somebody else has, or waits for, is left alone. */
async function ensureEmail(ctx: TransactionCtx, admin: UserRow) {
  const { adminEmail: email } = ctx.config
  if (admin.email !== null || admin.unconfirmed_email !== null || admin.auth_method !== 'password') return
  if (await findUserByLogin(ctx.db, email)) return
  await updateUser(ctx, admin.id, { email })
  await acceptInvitations(ctx, admin.id)
  await recordAudit(ctx, userAudit('update', admin, { changes: ['email'] }))
}
