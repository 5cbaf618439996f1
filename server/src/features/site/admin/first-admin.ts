import type { App } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { randomText } from '../../../ids.ts'
import { hashPassword } from '../../../secrets/passwords.ts'
import { insertUser, userAudit } from '../../identity/users/service.ts'
import { createFirstOrganization } from './first-organization.ts'
import * as store from './store.ts'
import { recordAudit } from '../../../audit/record.ts'
import { createUserToken, ensureUserToken } from '../../identity/tokens/user-tokens.ts'
import { findUserByLogin } from '../../identity/users/store.ts'

export const FIRST_ADMIN = 'admin'

/** What is to be printed, once: it can't be read again. */
export type FirstAdmin = { created: boolean; username?: string; password?: string; token?: string }

/**
 * Makes sure at start that somebody can administer the site. Without a site administrator it creates one with a generated
 * password and API token, and an organization of its own, and returns both secrets. A token set as ADMIN_TOKEN takes the place of the generated one and is not
 * returned; set or changed later, it is added for the first administrator. Processes that start side by side take turns.
 */
export async function ensureAdmin(app: App): Promise<FirstAdmin> {
  return transact({ ...app, actor: SYSTEM }, async (ctx) => {
    await store.lockSiteAdmins(ctx.db)
    const fixed = ctx.config.adminToken
    const existing = await store.findFirstSiteAdmin(ctx.db)
    if (existing) {
      if (fixed !== undefined) await ensureUserToken(ctx, existing.id, { text: fixed, description: 'ADMIN_TOKEN' })
      return { created: false }
    }

    const isTaken = (await findUserByLogin(ctx.db, FIRST_ADMIN)) !== undefined
    const username = isTaken ? `${FIRST_ADMIN}-${randomText(6)}` : FIRST_ADMIN
    const password = randomText(20)
    const user = await insertUser(ctx, {
      username,
      email: null,
      passwordHash: await hashPassword(password),
      isSiteAdmin: true,
    })
    await recordAudit(ctx, userAudit('create', user, { 'is-admin': true }))
    await createFirstOrganization(ctx, user)
    if (fixed !== undefined) {
      await ensureUserToken(ctx, user.id, { text: fixed, description: 'ADMIN_TOKEN' })
      return { created: true, username, password }
    }
    const { text } = await createUserToken(ctx, user.id, { description: 'first start' })
    return { created: true, username, password, token: text }
  })
}
