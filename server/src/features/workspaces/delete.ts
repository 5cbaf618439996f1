import type { Ctx } from '../../app.ts'
import { transact, type Tx } from '../../db/db.ts'
import { conflict, forbidden, notFound } from '../../errors.ts'
import { abandonJobs } from '../agent-jobs/abandon.ts'
import { recordAudit } from '../audit-trail/service.ts'
import { extractVersion } from '../state-versions/service.ts'
import { lockedBy } from './lock.ts'
import { mayForceDelete } from './resource.ts'
import { requireWorkspaceBy, type Workspace } from './service.ts'
import * as store from './store.ts'

/**
 * Deletes a workspace with everything in it. Throws `forbidden` when it still manages resources and the caller may not
 * force the deletion.
 */
export async function deleteWorkspace(ctx: Ctx, key: store.WorkspaceKey) {
  const workspace = await requireWorkspaceBy(ctx, key, 'workspace:delete')
  await transact(ctx, async (ctx) => {
    const locked = await store.lockWorkspaceRow(ctx.db, workspace.id)
    if (!locked) throw notFound('workspace')
    if (locked.resource_count > 0 && !mayForceDelete(workspace)) {
      throw forbidden(
        `the workspace ${locked.name} manages ${locked.resource_count} resources: destroy them, or ask an owner to delete it`,
      )
    }
    await destroy(ctx, workspace)
  })
}

/** Deletes a workspace that manages nothing. Throws `conflict` in the words that clients look for when it is not safe. */
export async function safeDeleteWorkspace(ctx: Ctx, key: store.WorkspaceKey) {
  const workspace = await requireWorkspaceBy(ctx, key, 'workspace:delete')
  // What the state manages is counted in the background; who asks right after a destroy wants to know now.
  if (workspace.current_state_version_id !== null) await extractVersion(ctx, workspace.current_state_version_id)
  await transact(ctx, async (ctx) => {
    const locked = await store.lockWorkspaceRow(ctx.db, workspace.id)
    if (!locked) throw notFound('workspace')
    if (locked.locked_by_type !== null) throw conflict(`the workspace ${locked.name} ${await lockedBy(ctx, locked)}`)
    if (
      locked.pending_state_version_id !== null ||
      locked.current_state_version_id !== workspace.current_state_version_id
    ) {
      throw conflict(`the state of the workspace ${locked.name} is still being processed: try again in a moment`)
    }
    if (locked.resource_count > 0) {
      throw conflict(
        `the workspace ${locked.name} is still managing resources (${locked.resource_count}): destroy them first`,
      )
    }
    await destroy(ctx, workspace)
  })
}

async function destroy(ctx: Ctx & { db: Tx }, { id, name, organization_id: organizationId }: Workspace) {
  await abandonJobs(ctx, id)
  await store.deleteWorkspace(ctx.db, id)
  await recordAudit(ctx, { organizationId, action: 'destroy', resource: { type: 'workspace', id }, meta: { name } })
}
