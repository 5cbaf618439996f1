import type { CreateUser, UpdateUser } from '@groundstate/contract/users'
import type { App, Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { SYSTEM, checkSiteAdmin, userActor } from '../../../auth/actor.ts'
import { announce } from '../../../changes/announce.ts'
import { isForeignKeyViolation, transact } from '../../../db/db.ts'
import { conflict, invalid } from '../../../errors.ts'
import { randomText } from '../../../ids.ts'
import { hashPassword } from '../../../secrets/passwords.ts'
import { endSessions } from '../../identity/sessions/service.ts'
import { removeTwoFactor } from '../../identity/sessions/two-factor.ts'
import { createUserToken, replaceSettingToken } from '../../identity/tokens/service.ts'
import { userAudit } from '../../identity/users/resource.ts'
import { createUser, updateUser } from '../../identity/users/service.ts'
import { type UserRow, findUserByLogin } from '../../identity/users/store.ts'
import { acceptInvitations } from '../../organizations/organization-memberships/service.ts'
import { createOrganization } from '../../organizations/organizations/service.ts'
import { teamNotice } from '../../organizations/teams/access.ts'
import { checkNotLastAdmin, requireSiteUser } from './access.ts'
import * as store from './store.ts'

/** Creates an account. One without a password is for single sign-on, or for programs with API tokens. */
export async function createSiteUser(ctx: Ctx, input: CreateUser) {
  checkSiteAdmin(ctx)
  const passwordHash = input.password === undefined ? null : await hashPassword(input.password)
  const user = await transact(ctx, async (ctx) => {
    const user = await createUser(ctx, {
      username: input.username,
      email: input.email,
      passwordHash,
      isSiteAdmin: input['is-admin'],
    })
    await acceptInvitations(ctx, user.id)
    await recordAudit(ctx, userAudit('create', user, { 'is-admin': user.is_site_admin }))
    return user
  })
  return requireSiteUser(ctx, user.id)
}

/**
 * Changes an account. A new password, for someone who lost theirs, ends all sessions. A new address counts as
 * confirmed, so it accepts the invitations that went to it.
 */
export async function updateSiteUser(ctx: Ctx, id: string, input: UpdateUser) {
  const user = await requireSiteUser(ctx, id)
  const passwordHash = input.password === undefined ? undefined : await hashPassword(input.password)
  const meta = { changes: Object.keys(input), 'is-admin': input['is-admin'] }
  return changeUser(ctx, userAudit('update', user, meta), async (ctx) => {
    if (input['is-admin'] === false) await checkNotLastAdmin(ctx, id)
    await updateUser(ctx, id, {
      ...(input.username !== undefined && { username: input.username }),
      ...(input.email !== undefined && { email: input.email }),
      ...(input['is-admin'] !== undefined && { is_site_admin: input['is-admin'] }),
      ...(passwordHash !== undefined && { password_hash: passwordHash, auth_method: 'password' }),
    })
    if (passwordHash !== undefined) await endSessions(ctx, id)
    if (input.email !== undefined) await acceptInvitations(ctx, id)
  })
}

export async function grantAdmin(ctx: Ctx, id: string) {
  return updateSiteUser(ctx, id, { 'is-admin': true })
}

export async function revokeAdmin(ctx: Ctx, id: string) {
  return updateSiteUser(ctx, id, { 'is-admin': false })
}

/**
 * Blocks an account: no one can sign in, and its sessions and API tokens stop working at once. Nothing else stops a
 * stolen account. So unlike deletion, which cannot be undone, it is allowed for the only owner of an organization.
 */
export async function suspendUser(ctx: Ctx, id: string) {
  const user = await requireSiteUser(ctx, id)
  if (ctx.actor.kind === 'user' && ctx.actor.userId === id) throw invalid("you can't suspend your own account")
  return changeUser(ctx, userAudit('suspend', user), async (ctx) => {
    await checkNotLastAdmin(ctx, id)
    await updateUser(ctx, id, { suspended_at: user.suspended_at ?? ctx.now() })
    await endSessions(ctx, id)
  })
}

export async function unsuspendUser(ctx: Ctx, id: string) {
  const user = await requireSiteUser(ctx, id)
  return changeUser(ctx, userAudit('unsuspend', user), async (ctx) => {
    await updateUser(ctx, id, { suspended_at: null })
  })
}

/** For someone who has lost both the authenticator and the recovery codes. */
export async function disableUserTwoFactor(ctx: Ctx, id: string) {
  const user = await requireSiteUser(ctx, id)
  if (!user.two_factor_at) throw invalid('two-factor authentication is off already')
  return changeUser(ctx, userAudit('disable_two_factor', user), async (ctx) => removeTwoFactor(ctx, id))
}

/** Makes a change and records its event in one transaction; returns the user as it is afterwards. */
async function changeUser(
  ctx: Ctx,
  event: ReturnType<typeof userAudit>,
  change: (ctx: TransactionCtx) => Promise<unknown>,
) {
  return transact(ctx, async (ctx) => {
    await change(ctx)
    await recordAudit(ctx, event)
    return requireSiteUser(ctx, event.resource.id)
  })
}

/**
 * Deletes an account with its tokens and memberships. Throws `conflict` for the last owner of an organization, or the
 * last admin.
 */
export async function deleteSiteUser(ctx: Ctx, id: string) {
  const user = await requireSiteUser(ctx, id)
  try {
    await transact(ctx, async (ctx) => {
      await checkNotLastAdmin(ctx, id)
      const organizations = await store.listSoleOwnerships(ctx.db, id)
      if (organizations.length > 0)
        throw conflict(`the user is the only owner of ${organizations.join(', ')}: name another owner first`)
      await announceMembershipsOf(ctx, id)
      await store.deleteUser(ctx.db, id)
      await recordAudit(ctx, userAudit('destroy', user))
    })
  } catch (error) {
    if (isForeignKeyViolation(error)) throw conflict('something still refers to the user: suspend the account instead')
    throw error
  }
}

/** Members of an organization see that one of them is gone. Who was a member is known before the deletion only. */
async function announceMembershipsOf(ctx: TransactionCtx, userId: string) {
  const { memberships, teams } = await store.listMembershipsOf(ctx.db, userId)
  announce(
    ctx,
    ...memberships.map(({ id, organization_id: organization }) => ({
      organization,
      type: 'organization-memberships' as const,
      id,
    })),
    ...teams.map(({ organization_id: organization, ...team }) => ({ organization, ...teamNotice(team) })),
  )
}

const FIRST_ADMIN = 'admin'
/** The examples use this name. */
const FIRST_ORGANIZATION = 'main'

/** The secrets of a new administrator, to be printed once: they cannot be read again. */
type FirstAdmin = { created: boolean; username?: string; password?: string; token?: string }

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

/** An administrator of an earlier version has no address. One that another user has, or waits for, is left alone. */
async function ensureEmail(ctx: TransactionCtx, admin: UserRow) {
  const { adminEmail: email } = ctx.config
  if (admin.email !== null || admin.unconfirmed_email !== null || admin.auth_method !== 'password') return
  if (await findUserByLogin(ctx.db, email)) return
  await updateUser(ctx, admin.id, { email })
  await acceptInvitations(ctx, admin.id)
  await recordAudit(ctx, userAudit('update', admin, { changes: ['email'] }))
}
