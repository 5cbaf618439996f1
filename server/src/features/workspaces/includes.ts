import type { Relationship, Resource } from '@groundstate/contract/json-api'
import type { Ctx } from '../../app.ts'
import { listReadableOrganizations, organizationResource } from '../organizations/service.ts'
import { listReadableProjects, projectResource } from '../projects/service.ts'
import { listOutputsOf } from '../state-version-outputs/service.ts'
import { effectiveTagBindingResource, listEffectiveTagBindings } from '../tags/service.ts'
import { includedUsers } from '../users/service.ts'
import { listVariablesOfWorkspaces, variableResource } from '../variables/service.ts'
import { workspaceOutputResource, workspaceResource } from './resource.ts'
import type { Workspace } from './service.ts'

/** What one include adds: resources, and the relationships by which each workspace (by id) names its own. */
type Inclusion = { resources: Resource[]; relationships?: Map<string, Record<string, Relationship>> }
type Loader = (ctx: Ctx, workspaces: readonly Workspace[]) => Promise<Inclusion>

/** Each loader asks for all workspaces at once, and leaves out what the caller may not read. */
const LOADERS = {
  organization: async (ctx, workspaces) => ({
    resources: (await listReadableOrganizations(ctx, ids(workspaces, 'organization_id'))).map(organizationResource),
  }),
  project: async (ctx, workspaces) => ({
    resources: (await listReadableProjects(ctx, ids(workspaces, 'project_id'))).map((project) =>
      projectResource(project),
    ),
  }),
  effective_tag_bindings: async (ctx, workspaces) => {
    const bindings = await listEffectiveTagBindings(ctx, ids(workspaces, 'id'))
    const relationships = new Map(
      workspaces.map(({ id }) => [
        id,
        {
          'effective-tag-bindings': {
            data: (bindings.get(id) ?? []).map((binding) => ({ id: binding.id, type: 'effective-tag-bindings' })),
          },
        },
      ]),
    )
    return { resources: [...bindings.values()].flat().map(effectiveTagBindingResource), relationships }
  },
  locked_by: async (ctx, workspaces) => ({
    resources: await includedUsers(
      ctx,
      workspaces.map((workspace) => (workspace.locked_by_type === 'user' ? workspace.locked_by_id : null)),
    ),
  }),
  outputs: async (ctx, workspaces) => {
    const readable = workspaces.filter((workspace) => workspace.can.has('state-outputs:read'))
    const versions = readable.flatMap((workspace) => workspace.current_state_version_id ?? [])
    const outputs = versions.length === 0 ? [] : await listOutputsOf(ctx, versions)
    const byVersion = Map.groupBy(outputs, (output) => output.stateVersionId)
    const relationships = new Map(
      workspaces.map(({ id, current_state_version_id: version }) => {
        const data = byVersion.get(version ?? '')?.map((output) => ({ id: output.id, type: 'workspace-outputs' }))
        return [id, { outputs: { data: data ?? [] } }]
      }),
    )
    return { resources: outputs.map(workspaceOutputResource), relationships }
  },
  vars: async (ctx, workspaces) => {
    const readable = workspaces.filter((workspace) => workspace.can.has('variables:read'))
    const variables = await listVariablesOfWorkspaces(ctx.db, ids(readable, 'id'))
    const byWorkspace = Map.groupBy(variables, (variable) => variable.workspace_id)
    const relationships = new Map(
      workspaces.map(({ id }) => [
        id,
        { vars: { data: (byWorkspace.get(id) ?? []).map((variable) => ({ id: variable.id, type: 'vars' })) } },
      ]),
    )
    return { resources: variables.map(variableResource), relationships }
  },
} as const satisfies Record<string, Loader>

export const INCLUDES = Object.keys(LOADERS)

/** Presents workspaces with what `includes` names; the number of queries does not depend on how many they are. */
export async function workspaceDocuments(ctx: Ctx, workspaces: readonly Workspace[], includes: ReadonlySet<string>) {
  if (includes.size === 0) return { resources: workspaces.map((workspace) => workspaceResource(workspace)) }
  const loaders: Record<string, Loader> = LOADERS
  const inclusions = await Promise.all([...includes].flatMap((name) => loaders[name]?.(ctx, workspaces) ?? []))
  const resources = workspaces.map((workspace) =>
    workspaceResource(
      workspace,
      Object.assign({}, ...inclusions.map(({ relationships }) => relationships?.get(workspace.id))),
    ),
  )
  const included = new Map(
    inclusions.flatMap(({ resources }) => resources.map((resource) => [`${resource.type}/${resource.id}`, resource])),
  )
  return { resources, included: [...included.values()] }
}

/** As `workspaceDocuments`, for one. */
export async function workspaceDocument(ctx: Ctx, workspace: Workspace, includes: ReadonlySet<string>) {
  const { resources, included } = await workspaceDocuments(ctx, [workspace], includes)
  return { resource: resources[0] ?? workspaceResource(workspace), included }
}

function ids(workspaces: readonly Workspace[], column: 'id' | 'organization_id' | 'project_id') {
  return [...new Set(workspaces.map((workspace) => workspace[column]))]
}
