import type { Register } from '@groundstate/contract/invitations'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { userActor } from '../../../auth/actor.ts'
import { tokenHash } from '../../../auth/tokens.ts'
import { transact } from '../../../db/db.ts'
import { conflict } from '../../../errors.ts'
import { hashPassword } from '../../../secrets/passwords.ts'
import { requirePerson } from '../../identity/account/service.ts'
import { invalidLink } from '../../identity/password-resets/service.ts'
import { countUnknownLink } from '../../identity/sessions/count-attempts.ts'
import { type OpenedSession, checkPasswordSignIn, openSession } from '../../identity/sessions/service.ts'
import { userAudit } from '../../identity/users/resource.ts'
import { createUser, updateUser } from '../../identity/users/service.ts'
import { type UserRow, findUserByLogin } from '../../identity/users/store.ts'
import { acceptInvitations } from '../organization-memberships/service.ts'
import { type OpenInvitation, findInvitation } from './store.ts'

/** Throws `not-found` for a link that was used, replaced, removed or has expired, or `too-many-requests`. */
export async function requireInvitation(ctx: Ctx, secret: string): Promise<OpenInvitation> {
  const invitation = await findInvitation(ctx.db, tokenHash(secret), ctx.now())
  if (invitation) return invitation
  await countUnknownLink(ctx)
  throw invalidLink()
}

/** Makes the signed-in user a member, whatever their address. A mailed link confirms the address of an account without one. */
export async function acceptInvitation(ctx: Ctx, secret: string) {
  const user = await requirePerson(ctx)
  const invitation = await requireInvitation(ctx, secret)
  return transact(ctx, async (ctx) => {
    await join(ctx, user, { ...invitation, secret })
    const { email, confirms_email: confirms } = invitation
    if (!confirms || user.email !== null || (await findUserByLogin(ctx.db, email))) return invitation
    await updateUser(ctx, user.id, { email })
    await recordAudit(ctx, userAudit('update', user, { changes: ['email'] }))
    await acceptInvitations(ctx, user.id)
    return invitation
  })
}

/**
 * Creates an account with a password for the invited person, and signs it in. A link that was shown to the inviter does not prove the address, which
 * stays unconfirmed.
 */
export async function register(ctx: Ctx, { secret, username, password }: Register): Promise<OpenedSession> {
  await checkPasswordSignIn(ctx)
  const invitation = await requireInvitation(ctx, secret)
  const passwordHash = await hashPassword(password)
  return transact(ctx, async (ctx) => {
    const { email, confirms_email: confirms } = invitation
    const addresses = confirms ? { email } : { email: null, unconfirmedEmail: email }
    const user = await createUser(ctx, { username, ...addresses, passwordHash })
    // The request is anonymous; the audit trail names the user.
    const asUser = { ...ctx, actor: userActor(user) }
    await recordAudit(asUser, userAudit('create', user, { via: 'invitation' }))
    await join(asUser, user, { ...invitation, secret })
    if (confirms) await acceptInvitations(asUser, user.id)
    return openSession(asUser, user)
  })
}

type UsedLink = Pick<OpenInvitation, 'organization_name'> & { secret: string }

/** The link may have been replaced in the meantime, since its invitation now gives more access. */
async function join(ctx: TransactionCtx, user: UserRow, { secret, organization_name: name }: UsedLink) {
  if ((await acceptInvitations(ctx, user.id, tokenHash(secret))) > 0) return
  await requireInvitation(ctx, secret)
  throw conflict(`${user.username} is a member of ${name} already`)
}
