import type { TransactionCtx } from '../../../app.ts'
import { conflict } from '../../../errors.ts'
import * as store from './store.ts'

/** Throws `conflict` for the only active administrator: after losing that one, nobody could appoint another. */
export async function checkNotLastAdmin(ctx: TransactionCtx, userId: string) {
  await store.lockSiteAdmins(ctx.db)
  const user = await store.findSiteUser(ctx.db, userId)
  if (user?.is_site_admin && !user.suspended_at && (await store.countOtherAdmins(ctx.db, userId)) === 0)
    throw conflict(`${user.username} is the last administrator of this server`)
}
