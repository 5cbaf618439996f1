import type { Ctx } from '../../../app.ts'
import type { WorkspacePermission } from '../../../auth/permissions.ts'
import { notFound } from '../../../errors.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import * as store from './store.ts'

export type WorkspaceTaskKey = { workspaceId: string; id: string }

/** Throws `not-found` if the workspace has no such task or the actor may not see it, `forbidden` without the permission. */
export async function requireWorkspaceTask(ctx: Ctx, key: WorkspaceTaskKey, permission: WorkspacePermission) {
  const { workspaceId, id } = key
  const workspace = await requireWorkspace(ctx, workspaceId, permission)
  const row = await store.findWorkspaceTask(ctx.db, workspace.id, id)
  if (!row) throw notFound('workspace task')
  return { ...row, workspace }
}

export async function listReadableWorkspaceTasks(ctx: Ctx, ids: readonly string[]) {
  return ids.length === 0 ? [] : store.findWorkspaceTasks(ctx.db, ctx.actor, ids)
}
