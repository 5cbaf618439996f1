import type { CreateUser, UpdateUser } from '@groundstate/contract/users'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { isForeignKeyViolation, transact } from '../../../db/db.ts'
import { conflict, invalid, notFound } from '../../../errors.ts'
import { hashPassword } from '../../../secrets/passwords.ts'
import { acceptInvitations } from '../../organizations/organization-memberships/service.ts'
import { endSessions } from '../../identity/sessions/service.ts'
import { insertUser, updateUser, userAudit } from '../../identity/users/service.ts'
import * as store from './store.ts'
import { recordAudit } from '../../../audit/record.ts'
import { removeSecondFactor } from '../../identity/sessions/second-factor.ts'
import { checkSiteAdmin } from '../../../auth/actor.ts'
import type { Page } from '../../../db/page.ts'

/** Creates an account. Without a password it can't sign in with one: for sign-on, and for programs with API tokens. */
export async function createSiteUser(ctx: Ctx, input: CreateUser) {
  checkSiteAdmin(ctx)
  const passwordHash = input.password === undefined ? null : await hashPassword(input.password)
  const user = await transact(ctx, async (ctx) => {
    const user = await insertUser(ctx, {
      username: input.username,
      email: input.email,
      passwordHash,
      isSiteAdmin: input['is-admin'],
    })
    await acceptInvitations(ctx, user.id)
    await recordAudit(ctx, userAudit('create', user, { 'is-admin': user.is_site_admin }))
    return user
  })
  return showSiteUser(ctx, user.id)
}

export async function listSiteUsers(ctx: Ctx, { page, ...filter }: store.UserFilter & { page: Page }) {
  checkSiteAdmin(ctx)
  return store.listUsers(ctx.db, filter, page)
}

export async function showSiteUser(ctx: Ctx, id: string) {
  checkSiteAdmin(ctx)
  const user = await store.findUser(ctx.db, id)
  if (!user) throw notFound('user')
  return user
}

/**
 * Changes an account; a new password, for someone who lost theirs, ends all sessions. The administrator answers for the
 * address, so it spends the invitations that went to it.
 */
export async function updateSiteUser(ctx: Ctx, id: string, input: UpdateUser) {
  const user = await showSiteUser(ctx, id)
  const passwordHash = input.password === undefined ? undefined : await hashPassword(input.password)
  const meta = { changes: Object.keys(input), 'is-admin': input['is-admin'] }
  return changed(ctx, userAudit('update', user, meta), async (ctx) => {
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

/**
 * A suspended account can't sign in, and its sessions and API tokens stop to work at once. Nothing else stops a stolen
 * account, so the only owner of an organization can be suspended, though not deleted: this can be undone.
 */
export async function suspendUser(ctx: Ctx, id: string) {
  const user = await showSiteUser(ctx, id)
  if (ctx.actor.kind === 'user' && ctx.actor.userId === id) throw invalid("you can't suspend your own account")
  return changed(ctx, userAudit('suspend', user), async (ctx) => {
    await checkNotLastAdmin(ctx, id)
    await updateUser(ctx, id, { suspended_at: user.suspended_at ?? ctx.now() })
    await endSessions(ctx, id)
  })
}

export async function unsuspendUser(ctx: Ctx, id: string) {
  const user = await showSiteUser(ctx, id)
  return changed(ctx, userAudit('unsuspend', user), async (ctx) => {
    await updateUser(ctx, id, { suspended_at: null })
  })
}

export async function grantAdmin(ctx: Ctx, id: string) {
  return updateSiteUser(ctx, id, { 'is-admin': true })
}

export async function revokeAdmin(ctx: Ctx, id: string) {
  return updateSiteUser(ctx, id, { 'is-admin': false })
}

/** For someone who has lost both the authenticator and the recovery codes. */
export async function disableUserTwoFactor(ctx: Ctx, id: string) {
  const user = await showSiteUser(ctx, id)
  if (!user.second_factor_at) throw invalid('the second factor is off already')
  return changed(ctx, userAudit('disable_two_factor', user), async (ctx) => removeSecondFactor(ctx, id))
}

/** Deletes an account with its tokens and memberships. Throws `conflict` where it is the last owner or administrator. */
export async function deleteSiteUser(ctx: Ctx, id: string) {
  const user = await showSiteUser(ctx, id)
  try {
    await transact(ctx, async (ctx) => {
      await checkNotLastAdmin(ctx, id)
      const organizations = await store.listSoleOwnerships(ctx.db, id)
      if (organizations.length > 0)
        throw conflict(`the user is the only owner of ${organizations.join(', ')}: name another owner first`)
      await store.deleteUser(ctx.db, id)
      await recordAudit(ctx, userAudit('destroy', user))
    })
  } catch (error) {
    if (isForeignKeyViolation(error)) throw conflict('something still refers to the user: suspend the account instead')
    throw error
  }
}

async function changed(ctx: Ctx, event: ReturnType<typeof userAudit>, work: (ctx: TransactionCtx) => Promise<unknown>) {
  return transact(ctx, async (ctx) => {
    await work(ctx)
    await recordAudit(ctx, event)
    return showSiteUser(ctx, event.resource.id)
  })
}

/** Whoever could undo the loss would be gone. */
async function checkNotLastAdmin(ctx: TransactionCtx, userId: string) {
  await store.lockSiteAdmins(ctx.db)
  const user = await store.findUser(ctx.db, userId)
  if (user?.is_site_admin && !user.suspended_at && (await store.countOtherAdmins(ctx.db, userId)) === 0)
    throw conflict(`${user.username} is the last administrator of this server`)
}
