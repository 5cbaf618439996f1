import type { Loader } from '../../../http/loaders.ts'
import { listEffectiveProjectTagBindings } from '../tags/list-project-tags.ts'
import { effectiveTagBindingResource } from '../tags/resource.ts'
import { projectResource } from './resource.ts'
import { showProjects } from './show.ts'

export const projectLoaders: readonly Loader[] = [
  { type: 'projects', load: async (ctx, ids) => (await showProjects(ctx, ids)).map(projectResource) },
  {
    of: 'projects',
    relation: 'effective-tag-bindings',
    load: async (ctx, projects) => {
      const ids = projects.map((project) => project.id)
      const bindings = await listEffectiveProjectTagBindings(ctx, ids)
      return new Map(ids.map((id) => [id, (bindings.get(id) ?? []).map(effectiveTagBindingResource)]))
    },
  },
]
