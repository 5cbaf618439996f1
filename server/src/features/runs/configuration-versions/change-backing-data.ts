import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { badRequest, notFound } from '../../../errors.ts'
import { requireOrganizationById } from '../../organizations/organizations/access.ts'
import { lockWorkspaceRow } from '../../workspaces/workspaces/store.ts'
import { requireConfigurationVersion } from './access.ts'
import { configurationVersionAudit } from './audit.ts'
import * as store from './store.ts'

type BackingDataAction = 'soft_delete' | 'restore' | 'permanently_delete'

const BACKING_DATA = {
  soft_delete: { from: 'uploaded', to: 'backing_data_soft_deleted', stamp: 'soft-delete-backing-data' },
  restore: { from: 'backing_data_soft_deleted', to: 'uploaded', stamp: 'restore-backing-data' },
  permanently_delete: {
    from: 'backing_data_soft_deleted',
    to: 'backing_data_permanently_deleted',
    stamp: 'permanently-delete-backing-data',
  },
} as const satisfies Record<BackingDataAction, { from: string; to: string; stamp: string }>

/** Owners of an organization on a self-managed server may delete an archive, restore it, and delete it for good. */
export async function changeBackingData(ctx: Ctx, id: string, action: BackingDataAction) {
  if (ctx.config.edition === 'hosted') throw notFound('resource')
  const version = await requireConfigurationVersion(ctx, id, 'runs:read')
  // Only owners learn that the version exists, as for state versions.
  const organization = await requireOrganizationById(ctx, version.organization_id, 'organization:read')
  if (!organization.can.has('owner')) throw notFound('configuration version')
  const { from, to, stamp } = BACKING_DATA[action]
  const forGood = action === 'permanently_delete'
  const row = await transact(ctx, async (ctx) => {
    const workspace = await lockWorkspaceRow(ctx.db, version.workspace_id)
    if (action === 'soft_delete' && workspace?.current_configuration_version_id === id)
      throw badRequest('transition not allowed: it is the current configuration version of its workspace')
    const run = action === 'soft_delete' ? await store.findRunInNeed(ctx.db, id) : undefined
    if (run !== undefined) throw badRequest(`transition not allowed: the configuration version is needed by ${run}`)
    const changes = forGood ? { blob_key: null, size: null } : {}
    const row = await store.updateStatus(ctx.db, id, { from, to, stamp, now: ctx.now(), changes })
    if (row)
      await recordAudit(ctx, configurationVersionAudit(version.organization_id, `${action}_backing_data`, version))
    return row
  })
  if (!row) throw badRequest(`transition not allowed: the configuration version is ${version.status}, not ${from}`)
  if (forGood && version.blob_key !== null) await ctx.blobs.delete(version.blob_key)
  return row
}
