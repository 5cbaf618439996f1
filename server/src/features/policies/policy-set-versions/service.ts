import { policiesDirectory } from '@groundstate/contract/policy-sets'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { type Page, transact } from '../../../db/db.ts'
import { invalid, notFound } from '../../../errors.ts'
import { requirePolicySet } from '../policy-sets/access.ts'
import { lockPolicySet } from '../policy-sets/store.ts'
import { type PolicySetVersion, requirePolicySetVersion, versionAudit } from './access.ts'
import * as store from './store.ts'

/** Creates a version, which awaits its archive. */
export async function createPolicySetVersion(ctx: Ctx, setId: string) {
  const set = await requirePolicySet(ctx, setId, 'policies:manage')
  if (set.repository_id !== null)
    throw invalid(`the versions of ${set.name} come from the repository ${set.repository?.identifier}: push to it`)
  if (set.policy_ids.length > 0)
    throw invalid(`the set ${set.name} has policies attached: remove them before it has versions`)
  const now = ctx.now()
  const row = {
    id: ctx.newId('polsetver'),
    policy_set_id: setId,
    organization_id: set.organization_id,
  }
  await transact(ctx, async (ctx) => {
    if (!(await lockPolicySet(ctx.db, setId))) throw notFound('policy set')
    await store.insertVersion(ctx.db, {
      id: row.id,
      policy_set_id: setId,
      status: 'pending',
      status_timestamps: JSON.stringify({ pending: now.toISOString() }),
      source: 'tfe-api',
      policies_path: policiesDirectory(set.policies_path),
      created_by_user_id: actorUserId(ctx.actor),
      created_at: now,
      updated_at: now,
    })
    await recordAudit(ctx, versionAudit(row, 'create'))
  })
  return requirePolicySetVersion(ctx, row.id)
}

export async function listPolicySetVersions(ctx: Ctx, setId: string, page: Page) {
  const set = await requirePolicySet(ctx, setId, 'policies:read')
  const { rows, total } = await store.listVersions(ctx.db, setId, page)
  const canUpload = set.can.has('policies:manage')
  return { total, rows: rows.map((row): PolicySetVersion => ({ ...row, canUpload })) }
}
