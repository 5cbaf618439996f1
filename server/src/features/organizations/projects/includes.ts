import type { Ctx } from '../../../app.ts'
import { listEffectiveProjectTagBindings } from '../tags/service.ts'
import { projectResource } from './resource.ts'
import type { Project } from './service.ts'
import { effectiveTagBindingResource } from '../tags/resource.ts'

/** Presents projects with the tags that bind to their workspaces, when `includes` names them. */
export async function projectDocuments(ctx: Ctx, projects: readonly Project[], includes: ReadonlySet<string>) {
  if (!includes.has('effective_tag_bindings')) {
    return { resources: projects.map((project) => projectResource(project)) }
  }
  const bindings = await listEffectiveProjectTagBindings(
    ctx,
    projects.map((project) => project.id),
  )
  const resources = projects.map((project) => {
    const data = (bindings.get(project.id) ?? []).map(({ id }) => ({ id, type: 'effective-tag-bindings' as const }))
    return projectResource(project, { 'effective-tag-bindings': { data } })
  })
  return { resources, included: [...bindings.values()].flat().map(effectiveTagBindingResource) }
}
