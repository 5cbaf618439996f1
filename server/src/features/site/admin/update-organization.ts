import type { Ctx } from '../../../app.ts'
import { type AuditEvent, audited } from '../../../audit/record.ts'
import { invalid } from '../../../errors.ts'
import { organizationAudit } from '../../organizations/organizations/audit.ts'
import { wakePools } from '../../runs/agent-jobs/wake-pools.ts'
import { requireSiteOrganization } from './access.ts'
import { FEATURE_SETS } from './feature-sets.ts'
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
