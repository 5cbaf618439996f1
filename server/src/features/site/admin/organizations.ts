import type { Ctx } from '../../../app.ts'
import { invalid, notFound } from '../../../errors.ts'
import { destroyOrganization } from '../../organizations/organizations/changes.ts'
import { FEATURE_SETS } from './feature-sets.ts'
import * as store from './store.ts'
import { audited } from '../../../audit/record.ts'
import { checkSiteAdmin } from '../../../auth/actor.ts'
import type { Page } from '../../../db/page.ts'

export async function listSiteOrganizations(ctx: Ctx, { q, page }: { q: string | undefined; page: Page }) {
  checkSiteAdmin(ctx)
  return store.listOrganizations(ctx.db, q, page)
}

export async function showSiteOrganization(ctx: Ctx, name: string) {
  checkSiteAdmin(ctx)
  const organization = await store.findOrganization(ctx.db, name)
  if (!organization) throw notFound('organization')
  return organization
}

export async function updateSiteOrganization(ctx: Ctx, name: string, { plan }: { plan?: store.Plan | undefined }) {
  const organization = await showSiteOrganization(ctx, name)
  return plan === undefined ? organization : changePlan(ctx, organization.id, plan)
}

/** Deletes an organization and everything in it. */
export async function deleteSiteOrganization(ctx: Ctx, name: string) {
  const organization = await showSiteOrganization(ctx, name)
  await destroyOrganization(ctx, organization)
}

/** The feature sets whose name has `q` in it. */
export async function listFeatureSets(ctx: Ctx, q: string | undefined) {
  checkSiteAdmin(ctx)
  const wanted = (q ?? '').toLowerCase()
  return FEATURE_SETS.filter((set) => set.name.toLowerCase().includes(wanted))
}

/** Subscribing to a feature set is having its plan. */
export async function subscribe(ctx: Ctx, name: string, featureSetId: string) {
  const organization = await showSiteOrganization(ctx, name)
  const set = FEATURE_SETS.find((known) => known.id === featureSetId)
  if (!set) throw invalid(`there is no feature set ${featureSetId}`, '/data/relationships/feature-set/data/id')
  const updated = await changePlan(ctx, organization.id, set.plan)
  return { organization: updated, set }
}

async function changePlan(ctx: Ctx, id: string, plan: store.Plan) {
  const event = {
    organizationId: id,
    action: 'update',
    resource: { type: 'organization', id },
    meta: { changes: { plan } },
  }
  return audited(ctx, event, (ctx) => store.updatePlan(ctx.db, id, { plan, now: ctx.now() }))
}
