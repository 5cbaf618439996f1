import type { Resource } from '@groundstate/contract/json-api'
import type { Ctx } from '../../app.ts'
import { listReadableProjects, projectResource } from '../projects/service.ts'
import { listVariablesOfSets, variableResource } from '../variables/service.ts'
import { listReadableWorkspaces, workspaceResource } from '../workspaces/service.ts'
import type { VariableSet } from './service.ts'

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
