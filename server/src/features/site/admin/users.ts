import type { CreateUser, UpdateUser } from '@groundstate/contract/users'
import type { App, Ctx, TransactionCtx } from '../../../app.ts'
import { type AuditEvent, audited, recordAudit } from '../../../audit/record.ts'
import { SYSTEM, checkSiteAdmin, userActor } from '../../../auth/actor.ts'
import { announce } from '../../../changes/announce.ts'
import { type Page, isForeignKeyViolation, transact } from '../../../db/db.ts'
import { conflict, invalid, notFound } from '../../../errors.ts'
import { randomText } from '../../../ids.ts'
import { hashPassword } from '../../../secrets/passwords.ts'
import { createPasswordReset } from '../../identity/password-resets/service.ts'
import { endSessions } from '../../identity/sessions/service.ts'
import { signInMethods } from '../../identity/sessions/sign-in-settings.ts'
import { removeTwoFactor } from '../../identity/sessions/two-factor.ts'
import { createUserToken, replaceSettingToken } from '../../identity/tokens/service.ts'
import { userAudit } from '../../identity/users/resource.ts'
import { createUser, updateUser } from '../../identity/users/service.ts'
import { type UserRow, findUserByLogin } from '../../identity/users/store.ts'
import { acceptInvitations } from '../../organizations/organization-memberships/service.ts'
import { createOrganization } from '../../organizations/organizations/service.ts'
import { teamNotice } from '../../organizations/teams/access.ts'
import * as store from './store.ts'

export async function requireSiteUser(ctx: Ctx, id: string) {
  checkSiteAdmin(ctx)
  const user = await store.findSiteUser(ctx.db, id)
  if (!user) throw notFound('user')
  return user
}

/** Throws `conflict` for the only active administrator, since only an administrator can appoint another. */
async function checkNotLastAdmin(ctx: TransactionCtx, userId: string) {
  await store.lockSiteAdmins(ctx.db)
  const user = await store.findSiteUser(ctx.db, userId)
  if (user?.is_site_admin && !user.suspended_at && (await store.countOtherAdmins(ctx.db, userId)) === 0)
    throw conflict(`${user.username} is the last administrator of this server`)
}

export async function listSiteUsers(ctx: Ctx, { page, ...filter }: store.UserFilter & { page: Page }) {
  checkSiteAdmin(ctx)
  return store.listSiteUsers(ctx.db, filter, page)
}

export async function listSiteMemberships(ctx: Ctx, id: string, page: Page) {
  await requireSiteUser(ctx, id)
  return store.listSiteMemberships(ctx.db, id, page)
}

/**
 * Creates an account. Without a password it is for single sign-on, or for programs with API tokens; where there is no single sign-on, a link to
 * set a password is returned.
 */
export async function createSiteUser(ctx: Ctx, input: CreateUser) {
  checkSiteAdmin(ctx)
  const passwordHash = input.password === undefined ? null : await hashPassword(input.password)
  const methods = await signInMethods(ctx)
  const getsLink = passwordHash === null && methods.password && methods.sso === null
  return transact(ctx, async (ctx) => {
    const { username, email, 'is-admin': isSiteAdmin } = input
    const user = await createUser(ctx, { username, email, passwordHash, isSiteAdmin })
    await acceptInvitations(ctx, user.id)
    await recordAudit(ctx, userAudit('create', user, { 'is-admin': user.is_site_admin }))
    const reset = getsLink ? await createPasswordReset(ctx, user) : undefined
    return { user: await requireSiteUser(ctx, user.id), reset }
  })
}

/** Creates a one-time link with which the user sets a password. Until then everything stays as it is. */
export async function resetUserPassword(ctx: Ctx, id: string) {
  const user = await requireSiteUser(ctx, id)
  if (user.suspended_at) throw conflict(`${user.username} is suspended: unsuspend the account first`)
  return audited(ctx, userAudit('create_password_reset', user), (ctx) => createPasswordReset(ctx, user))
}

/** Changes an account. A new password ends all sessions. A new address counts as confirmed and accepts its invitations. */
export async function updateSiteUser(ctx: Ctx, id: string, input: UpdateUser) {
  const user = await requireSiteUser(ctx, id)
  const passwordHash = input.password === undefined ? undefined : await hashPassword(input.password)
  const meta = { changes: Object.keys(input), 'is-admin': input['is-admin'] }
  const columns = {
    username: input.username,
    email: input.email,
    is_site_admin: input['is-admin'],
    ...(passwordHash !== undefined && { password_hash: passwordHash, auth_method: 'password' as const }),
  }
  const event = { ...userAudit('update', user, meta), settings: { before: user, columns } }
  return changeUser(ctx, event, async (ctx) => {
    if (input['is-admin'] === false) await checkNotLastAdmin(ctx, id)
    await updateUser(ctx, id, columns)
    if (passwordHash !== undefined) await endSessions(ctx, id)
    if (input.email !== undefined) await acceptInvitations(ctx, id)
  })
}

/** Blocks an account with its sessions and tokens, even the only owner's of an organization: nothing else stops a stolen account. */
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
  return changeUser(ctx, userAudit('unsuspend', user), async (ctx) => updateUser(ctx, id, { suspended_at: null }))
}

/** For a user who has lost both the authenticator and the recovery codes. Ends all sessions, which the lost device may have. */
export async function disableUserTwoFactor(ctx: Ctx, id: string) {
  const user = await requireSiteUser(ctx, id)
  if (!user.two_factor_at) throw invalid('two-factor authentication is already disabled')
  return changeUser(ctx, userAudit('disable_two_factor', user), async (ctx) => {
    await removeTwoFactor(ctx, id)
    await endSessions(ctx, id)
  })
}

/** Makes a change with its audit event; returns the changed user. */
async function changeUser(ctx: Ctx, event: AuditEvent, change: (ctx: TransactionCtx) => Promise<unknown>) {
  return audited(ctx, event, async (ctx) => {
    await change(ctx)
    return requireSiteUser(ctx, event.resource.id)
  })
}

/** Deletes an account with its tokens and memberships. Throws `conflict` for the last owner of an organization and the last admin. */
export async function deleteSiteUser(ctx: Ctx, id: string) {
  const user = await requireSiteUser(ctx, id)
  try {
    await transact(ctx, async (ctx) => {
      await checkNotLastAdmin(ctx, id)
      const organizations = await store.listSoleOwnerships(ctx.db, id)
      if (organizations.length > 0)
        throw conflict(`the user is the only owner of ${organizations.join(', ')}: name another owner first`)
      await announceRemoval(ctx, id)
      await store.deleteUser(ctx.db, id)
      await recordAudit(ctx, userAudit('destroy', user))
    })
  } catch (error) {
    if (isForeignKeyViolation(error)) throw conflict('something still refers to the user: suspend the account instead')
    throw error
  }
}

/** Announces the removal of a member to the organizations. Call before the deletion, which removes the memberships. */
async function announceRemoval(ctx: TransactionCtx, userId: string) {
  const { memberships, teams } = await store.listMembershipsOf(ctx.db, userId)
  const type = 'organization-memberships'
  announce(
    ctx,
    ...memberships.map(({ id, organization_id: organization }) => ({ organization, type, id }) as const),
    ...teams.map(({ organization_id: organization, ...team }) => ({ organization, ...teamNotice(team) })),
  )
}

const FIRST_ADMIN = 'admin'
/** The examples use this name. */
const FIRST_ORGANIZATION = 'main'

/** Secrets of a new administrator, to be printed once: they cannot be read again. */
type FirstAdmin = { created: boolean; username?: string; password?: string; token?: string }

/**
 * Ensures at start that the site has an administrator. Otherwise creates one with a generated password and API token, and an organization,
 * and returns both secrets. ADMIN_TOKEN replaces the generated token and is not returned. If it is set or changed later, it becomes a token
 * of the first administrator and its previous value is revoked. ADMIN_EMAIL is the address of an administrator without one. Concurrent
 * starts are serialised.
 */
export async function ensureAdmin(app: App): Promise<FirstAdmin> {
  const password = randomText(20)
  // Before the transaction: hashing is slow, and the database ends idle transactions.
  const hasAdmin = (await store.findFirstSiteAdmin(app.db)) !== undefined
  const hashed = hasAdmin ? undefined : await hashPassword(password)
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

/** Sets the address of an administrator created by an earlier version, unless another user has or claims it. */
async function ensureEmail(ctx: TransactionCtx, admin: UserRow) {
  const { adminEmail: email } = ctx.config
  if (admin.email !== null || admin.unconfirmed_email !== null || admin.auth_method !== 'password') return
  if (await findUserByLogin(ctx.db, email)) return
  await updateUser(ctx, admin.id, { email })
  await acceptInvitations(ctx, admin.id)
  await recordAudit(ctx, userAudit('update', admin, { changes: ['email'] }))
}
