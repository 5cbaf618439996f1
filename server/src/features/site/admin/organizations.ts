import type { Ctx } from '../../../app.ts'
import { type AuditEvent, audited } from '../../../audit/record.ts'
import { invalid } from '../../../errors.ts'
import { organizationAudit } from '../../organizations/organizations/access.ts'
import { destroyOrganization } from '../../organizations/organizations/service.ts'
import { wakePools } from '../../runs/agent-jobs/claim.ts'
import { requireSiteOrganization } from './access.ts'
import type { Plan } from './store.ts'
import * as store from './store.ts'

type Changes = { plan?: store.Plan | undefined; 'run-concurrency'?: number | null | undefined }

export async function updateSiteOrganization(ctx: Ctx, name: string, { plan, 'run-concurrency': limit }: Changes) {
  const organization = await requireSiteOrganization(ctx, name)
  const changes = { ...(plan !== undefined && { plan }), ...(limit !== undefined && { 'run-concurrency': limit }) }
  return Object.keys(changes).length === 0 ? organization : change(ctx, organization, changes)
}

/** Gives an organization the plan of a feature set. */
export async function subscribe(ctx: Ctx, name: string, featureSetId: string) {
  const organization = await requireSiteOrganization(ctx, name)
  const set = FEATURE_SETS.find((known) => known.id === featureSetId)
  if (!set) throw invalid(`there is no feature set ${featureSetId}`, '/data/relationships/feature-set/data/id')
  const updated = await change(ctx, organization, { plan: set.plan })
  return { organization: updated, set }
}

async function change(ctx: Ctx, { id, name }: { id: string; name: string }, changes: Changes) {
  const { plan, 'run-concurrency': limit } = changes
  const event: AuditEvent = { ...organizationAudit({ id, name }, 'update'), meta: { changes } }
  return audited(ctx, event, async (ctx) => {
    if (limit !== undefined) await wakePools(ctx, id)
    return store.updateSiteOrganization(ctx.db, id, {
      ...(plan !== undefined && { plan }),
      ...(limit !== undefined && { run_concurrency: limit }),
      updated_at: ctx.now(),
    })
  })
}

/** Deletes an organization and everything in it. */
export async function deleteSiteOrganization(ctx: Ctx, name: string) {
  const organization = await requireSiteOrganization(ctx, name)
  await destroyOrganization(ctx, organization)
}

/** The plans, under names that existing clients expect: their tests look for `Business`, which has no limits. */
export const FEATURE_SETS = [
  { id: 'fs-free', name: 'Free', plan: 'free' },
  { id: 'fs-standard', name: 'Standard', plan: 'standard' },
  { id: 'fs-unlimited', name: 'Business (unlimited)', plan: 'unlimited' },
] as const satisfies readonly { id: string; name: string; plan: Plan }[]
export type FeatureSet = (typeof FEATURE_SETS)[number]
