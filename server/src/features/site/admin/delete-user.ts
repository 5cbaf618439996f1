import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { isForeignKeyViolation, transact } from '../../../db/db.ts'
import { conflict } from '../../../errors.ts'
import { userAudit } from '../../identity/users/audit.ts'
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
      await store.deleteUser(ctx.db, id)
      await recordAudit(ctx, userAudit('destroy', user))
    })
  } catch (error) {
    if (isForeignKeyViolation(error)) throw conflict('something still refers to the user: suspend the account instead')
    throw error
  }
}
