import type { Ctx } from '../../../app.ts'
import { requireProject } from '../projects/access.ts'
import { changeTagBindings, type TagChange } from './bind.ts'

export async function changeProjectTagBindings(ctx: Ctx, projectId: string, change: TagChange) {
  const project = await requireProject(ctx, projectId, 'tags:manage')
  const target = { organizationId: project.organization_id, projectId, name: project.name }
  return changeTagBindings(ctx, target, change)
}
