import type { Ctx } from '../../../app.ts'
import { requireProject } from '../projects/access.ts'
import * as store from './store.ts'

export async function listProjectTagBindings(ctx: Ctx, projectId: string) {
  const project = await requireProject(ctx, projectId, 'project:read')
  return store.listTagBindings(ctx.db, { organizationId: project.organization_id, projectId })
}

export async function listProjectEffectiveTagBindings(ctx: Ctx, projectId: string) {
  await requireProject(ctx, projectId, 'project:read')
  return store.listProjectsTagBindings(ctx.db, [projectId])
}

/** The tags of projects in the form of effective ones, by project id. The caller has authorised the projects. */
export async function listEffectiveProjectTagBindings(ctx: Ctx, projectIds: readonly string[]) {
  const bindings = await store.listProjectsTagBindings(ctx.db, projectIds)
  return Map.groupBy(bindings, (binding) => binding.for_id)
}
