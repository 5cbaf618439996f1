import type { UpdateUser } from '@groundstate/contract/users'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { invalid } from '../../../errors.ts'
import { hashPassword } from '../../../secrets/passwords.ts'
import { endSessions } from '../../identity/sessions/end.ts'
import { removeTwoFactor } from '../../identity/sessions/manage-two-factor.ts'
import { userAudit } from '../../identity/users/audit.ts'
import { updateUser } from '../../identity/users/update.ts'
import { acceptInvitations } from '../../organizations/organization-memberships/accept-invitations.ts'
import { requireSiteUser } from './access.ts'
import { checkNotLastAdmin } from './check-last-admin.ts'

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
 * Blocks an account: nobody can sign in, and its sessions and API tokens stop working at once. Nothing else stops a
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
