import type { Ctx } from '../../../app.ts'
import { type AuditEvent, audited } from '../../../audit/record.ts'
import { checkSiteAdmin } from '../../../auth/actor.ts'
import type { Page } from '../../../db/db.ts'
import { invalid, notFound } from '../../../errors.ts'
import { organizationAudit } from '../../organizations/organizations/access.ts'
import { destroyOrganization } from '../../organizations/organizations/service.ts'
import { updateOrganization } from '../../organizations/organizations/store.ts'
import { wakePools } from '../../runs/agent-jobs/claim.ts'
import * as store from './store.ts'

export async function requireSiteOrganization(ctx: Ctx, name: string) {
  checkSiteAdmin(ctx)
  const organization = await store.findSiteOrganization(ctx.db, name)
  if (!organization) throw notFound('organization')
  return organization
}

export async function listSiteOrganizations(ctx: Ctx, { q, page }: { q: string | undefined; page: Page }) {
  checkSiteAdmin(ctx)
  return store.listSiteOrganizations(ctx.db, q, page)
}

type Changes = { plan?: store.Plan | undefined; 'run-concurrency'?: number | null | undefined }

export async function updateSiteOrganization(ctx: Ctx, name: string, changes: Changes) {
  const organization = await requireSiteOrganization(ctx, name)
  const isChange = changes.plan !== undefined || changes['run-concurrency'] !== undefined
  return isChange ? change(ctx, organization, changes) : organization
}

export async function subscribe(ctx: Ctx, name: string, featureSetId: string) {
  const organization = await requireSiteOrganization(ctx, name)
  const set = FEATURE_SETS.find((known) => known.id === featureSetId)
  if (!set) throw invalid(`there is no feature set ${featureSetId}`, '/data/relationships/feature-set/data/id')
  const updated = await change(ctx, organization, { plan: set.plan })
  return { organization: updated, set }
}

async function change(ctx: Ctx, before: store.SiteOrganizationRow, { plan, 'run-concurrency': limit }: Changes) {
  const { id, name } = before
  const columns = { plan, run_concurrency: limit, updated_at: ctx.now() }
  const meta = { changes: { plan, 'run-concurrency': limit } }
  const event: AuditEvent = { ...organizationAudit({ id, name }, 'update'), meta, settings: { before, columns } }
  return audited(ctx, event, async (ctx) => {
    if (limit !== undefined) await wakePools(ctx, id)
    return updateOrganization(ctx.db, id, columns)
  })
}

export async function deleteSiteOrganization(ctx: Ctx, name: string) {
  await destroyOrganization(ctx, await requireSiteOrganization(ctx, name))
}

/** The plans with names that existing clients search for: `Standard (entitlement)`, and `Business` for one without limits. */
export const FEATURE_SETS = [
  { id: 'fs-free', name: 'Free', plan: 'free' },
  { id: 'fs-standard', name: 'Standard (entitlement)', plan: 'standard' },
  { id: 'fs-unlimited', name: 'Business (unlimited)', plan: 'unlimited' },
] as const satisfies readonly { id: string; name: string; plan: store.Plan }[]
export type FeatureSet = (typeof FEATURE_SETS)[number]

export async function listFeatureSets(ctx: Ctx, q = '') {
  checkSiteAdmin(ctx)
  return FEATURE_SETS.filter((set) => set.name.toLowerCase().includes(q.toLowerCase()))
}
