import type { Ctx, TransactionCtx } from '../../../app.ts'
import { checkSiteAdmin } from '../../../auth/actor.ts'
import { conflict, notFound } from '../../../errors.ts'
import * as store from './store.ts'

export async function requireSiteUser(ctx: Ctx, id: string) {
  checkSiteAdmin(ctx)
  const user = await store.findSiteUser(ctx.db, id)
  if (!user) throw notFound('user')
  return user
}

export async function requireSiteOrganization(ctx: Ctx, name: string) {
  checkSiteAdmin(ctx)
  const organization = await store.findSiteOrganization(ctx.db, name)
  if (!organization) throw notFound('organization')
  return organization
}

/** Throws `conflict` for the only active administrator: after losing that one, no one could appoint another. */
export async function checkNotLastAdmin(ctx: TransactionCtx, userId: string) {
  await store.lockSiteAdmins(ctx.db)
  const user = await store.findSiteUser(ctx.db, userId)
  if (user?.is_site_admin && !user.suspended_at && (await store.countOtherAdmins(ctx.db, userId)) === 0)
    throw conflict(`${user.username} is the last administrator of this server`)
}
