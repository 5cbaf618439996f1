import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { invalid } from '../../../errors.ts'
import { requireSiteOrganization } from './access.ts'
import { FEATURE_SETS } from './feature-sets.ts'
import * as store from './store.ts'

export async function updateSiteOrganization(ctx: Ctx, name: string, { plan }: { plan?: store.Plan | undefined }) {
  const organization = await requireSiteOrganization(ctx, name)
  return plan === undefined ? organization : changePlan(ctx, organization.id, plan)
}

/** Gives an organization the plan of a feature set. */
export async function subscribe(ctx: Ctx, name: string, featureSetId: string) {
  const organization = await requireSiteOrganization(ctx, name)
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
