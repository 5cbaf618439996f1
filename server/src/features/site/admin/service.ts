import type { Ctx } from '../../../app.ts'
import { checkSiteAdmin } from '../../../auth/actor.ts'
import type { Page } from '../../../db/db.ts'
import { FEATURE_SETS } from './organizations.ts'
import * as store from './store.ts'

export async function listSiteUsers(ctx: Ctx, { page, ...filter }: store.UserFilter & { page: Page }) {
  checkSiteAdmin(ctx)
  return store.listSiteUsers(ctx.db, filter, page)
}

export async function listSiteOrganizations(ctx: Ctx, { q, page }: { q: string | undefined; page: Page }) {
  checkSiteAdmin(ctx)
  return store.listSiteOrganizations(ctx.db, q, page)
}

/** The feature sets with `q` in their name. */
export async function listFeatureSets(ctx: Ctx, q: string | undefined) {
  checkSiteAdmin(ctx)
  const text = (q ?? '').toLowerCase()
  return FEATURE_SETS.filter((set) => set.name.toLowerCase().includes(text))
}
