import type { Ctx } from '../../../app.ts'
import { checkSiteAdmin } from '../../../auth/actor.ts'
import { notFound } from '../../../errors.ts'
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
