import type { Ctx } from '../../../app.ts'
import { changeTagBindings, type TagChange } from '../../organizations/tags/bind.ts'
import { requireWorkspace } from '../workspaces/access.ts'

export async function changeWorkspaceTagBindings(ctx: Ctx, workspaceId: string, change: TagChange) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'tags:manage')
  const target = { organizationId: workspace.organization_id, workspaceId, name: workspace.name }
  return changeTagBindings(ctx, target, change)
}
