import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { announce } from '../../../changes/announce.ts'
import { isForeignKeyViolation, transact } from '../../../db/db.ts'
import { conflict } from '../../../errors.ts'
import { userAudit } from '../../identity/users/audit.ts'
import { teamNotice } from '../../organizations/teams/audit.ts'
import { requireSiteUser } from './access.ts'
import { checkNotLastAdmin } from './check-last-admin.ts'
import * as store from './store.ts'

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
