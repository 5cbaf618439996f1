import type { Ctx } from '../../../app.ts'
import { listTagBindings } from '../../organizations/tags/store.ts'
import { requireWorkspace } from '../workspaces/access.ts'
import * as store from './store.ts'

export async function listWorkspaceTagBindings(ctx: Ctx, workspaceId: string) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'workspace:read')
  return listTagBindings(ctx.db, { organizationId: workspace.organization_id, workspaceId })
}

export async function listWorkspaceEffectiveTagBindings(ctx: Ctx, workspaceId: string) {
  await requireWorkspace(ctx, workspaceId, 'workspace:read')
  return store.listEffectiveTagBindings(ctx.db, [workspaceId])
}

/** The tags of workspaces, with those of their projects, by workspace id. The caller has authorised the workspaces. */
export async function listEffectiveTagBindings(ctx: Ctx, workspaceIds: readonly string[]) {
  const bindings = await store.listEffectiveTagBindings(ctx.db, workspaceIds)
  return Map.groupBy(bindings, (binding) => binding.for_id)
}
