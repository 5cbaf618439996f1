import type { Resource } from '@groundstate/contract/json-api'
import type { Ctx } from '../../../app.ts'
import { listReadableProjects } from '../../organizations/projects/service.ts'
import { listReadableWorkspaces } from '../workspaces/service.ts'
import type { VariableSet } from './service.ts'
import { projectResource } from '../../organizations/projects/resource.ts'
import { listVariablesOfSets } from '../variables/store.ts'
import { variableResource } from '../variables/resource.ts'
import { workspaceResource } from '../workspaces/resource.ts'

// Stacks are among what clients may ask for; there are none here.
export const INCLUDES = ['workspaces', 'projects', 'stacks', 'vars'] as const

/** What `includes` adds to a document of variable sets; undefined when nothing is asked for. */
export async function included(ctx: Ctx, sets: readonly VariableSet[], includes: ReadonlySet<string>) {
  if (includes.size === 0) return undefined
  const resources: Resource[] = []
  if (includes.has('workspaces')) {
    const ids = new Set(sets.flatMap((set) => set.workspace_ids))
    const workspaces = await listReadableWorkspaces(ctx, [...ids])
    resources.push(...workspaces.map((workspace) => workspaceResource(workspace)))
  }
  if (includes.has('projects')) {
    const projects = await listReadableProjects(ctx, [...new Set(sets.flatMap((set) => set.project_ids))])
    resources.push(...projects.map((project) => projectResource(project)))
  }
  if (includes.has('vars')) {
    const ids = sets.map((set) => set.id)
    resources.push(...(await listVariablesOfSets(ctx.db, ids)).map((row) => variableResource(row)))
  }
  return resources
}
