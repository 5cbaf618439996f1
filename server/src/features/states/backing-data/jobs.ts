import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { announceVersions } from '../state-versions/audit.ts'
import { deleteContent } from '../state-versions/content.ts'
import { findVersion, listPurgeable, lockWorkspaceOf, purgeStateVersion } from '../state-versions/store.ts'

const BATCH = 200

/** Deletes the content of versions that can no longer be restored. */
export async function purgeDeleted(ctx: Ctx, signal: AbortSignal) {
  for (let count = BATCH; count === BATCH && !signal.aborted;) {
    const due = await listPurgeable(ctx.db, ctx.now(), BATCH)
    for (const { id } of due) {
      const purged = await transact(ctx, async (ctx) => {
        const workspace = await lockWorkspaceOf(ctx.db, id)
        const version = await findVersion(ctx.db, id)
        // It may have been restored meanwhile.
        if (version?.status !== 'backing_data_soft_deleted') return undefined
        await purgeStateVersion(ctx.db, id)
        if (workspace) announceVersions(ctx, [{ ...version, organization_id: workspace.organization_id }])
        return version
      })
      if (purged) await deleteContent(ctx, purged)
    }
    count = due.length
  }
}
