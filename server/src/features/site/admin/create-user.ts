import type { CreateUser } from '@groundstate/contract/users'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { checkSiteAdmin } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { hashPassword } from '../../../secrets/passwords.ts'
import { userAudit } from '../../identity/users/audit.ts'
import { createUser } from '../../identity/users/create.ts'
import { acceptInvitations } from '../../organizations/organization-memberships/accept-invitations.ts'
import { requireSiteUser } from './access.ts'

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
