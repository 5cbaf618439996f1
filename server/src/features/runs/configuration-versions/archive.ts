import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { conflict } from '../../../errors.ts'
import { lockWorkspaceRow } from '../../workspaces/workspaces/store.ts'
import { requireConfigurationVersion } from './access.ts'
import { configurationVersionAudit } from './audit.ts'
import * as store from './store.ts'

/** Deletes the archive of a version. Throws `conflict` if it is current in its workspace or a run needs it. */
export async function archiveConfigurationVersion(ctx: Ctx, id: string) {
  const version = await requireConfigurationVersion(ctx, id, 'runs:apply')
  if (version.status !== 'uploaded')
    throw conflict(`transition not allowed: the configuration version is ${version.status}, it must be uploaded`)
  await transact(ctx, async (ctx) => {
    const workspace = await lockWorkspaceRow(ctx.db, version.workspace_id)
    if (workspace?.current_configuration_version_id === id)
      throw conflict('transition not allowed: the configuration could not be archived because it is current')
    const run = await store.findRunInNeed(ctx.db, id)
    if (run !== undefined) throw conflict(`transition not allowed: the configuration is needed by ${run}`)
    const now = ctx.now()
    const row = await store.updateStatus(ctx.db, id, {
      from: 'uploaded',
      to: 'archived',
      stamp: 'archived',
      now,
      changes: { blob_key: null, size: null },
    })
    if (!row) throw conflict('transition not allowed: the configuration version has just changed')
    await recordAudit(ctx, configurationVersionAudit(version.organization_id, 'archive', version))
  })
  if (version.blob_key !== null) await ctx.blobs.delete(version.blob_key)
}
