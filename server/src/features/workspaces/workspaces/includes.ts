import type { Relationship, Resource } from '@groundstate/contract/json-api'
import type { Ctx } from '../../../app.ts'
import { listReadableAgentPools } from '../../agents/agent-pools/service.ts'
import { listReadableOrganizations } from '../../organizations/organizations/service.ts'
import { listReadableProjects } from '../../organizations/projects/service.ts'
import { listReadableRuns, listWaitingReasons } from '../../runs/runs/service.ts'
import { listOutputsOf } from '../../states/state-version-outputs/service.ts'
import { includedStateVersions } from '../../states/state-versions/service.ts'
import { listEffectiveTagBindings } from '../../organizations/tags/service.ts'
import { includedUsers } from '../../identity/users/service.ts'
import { effectiveExecution } from './execution.ts'
import { workspaceOutputResource, workspaceResource } from './resource.ts'
import type { Workspace } from './service.ts'
import { agentPoolResource } from '../../agents/agent-pools/resource.ts'
import { configurationVersionResource } from '../../runs/configuration-versions/resource.ts'
import { findConfigurationVersions } from '../../runs/configuration-versions/store.ts'
import { organizationResource } from '../../organizations/organizations/resource.ts'
import { projectResource } from '../../organizations/projects/resource.ts'
import { runDocuments } from '../../runs/runs/resource.ts'
import { effectiveTagBindingResource } from '../../organizations/tags/resource.ts'
import { listVariablesOfWorkspaces } from '../variables/store.ts'
import { variableResource } from '../variables/resource.ts'

/** What one include adds: resources, and the relationships by which each workspace (by id) names its own. */
type Inclusion = { resources: readonly Resource[]; relationships?: Map<string, Record<string, Relationship>> }
/** `nested` has what is asked for below the relation: `plan` of `current_run.plan`. */
type Loader = (ctx: Ctx, workspaces: readonly Workspace[], nested: ReadonlySet<string>) => Promise<Inclusion>

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
  current_run: async (ctx, workspaces, nested) => includedRuns(ctx, ids(workspaces, 'current_run_id'), nested),
  latest_run: async (ctx, workspaces, nested) => includedRuns(ctx, ids(workspaces, 'latest_run_id'), nested),
  current_configuration_version: async (ctx, workspaces) => {
    const readable = workspaces.filter((workspace) => workspace.can.has('runs:read'))
    const versions = await findConfigurationVersions(ctx.db, ids(readable, 'current_configuration_version_id'))
    return { resources: versions.map((version) => configurationVersionResource(ctx, version)) }
  },
  current_state_version: async (ctx, workspaces) => {
    const readable = workspaces.filter((workspace) => workspace.can.has('state-versions:read'))
    return { resources: await includedStateVersions(ctx, readable) }
  },
  agent_pool: async (ctx, workspaces) => {
    const poolIds = new Set(workspaces.flatMap((workspace) => effectiveExecution(workspace).agentPoolId ?? []))
    return { resources: (await listReadableAgentPools(ctx, [...poolIds])).map(agentPoolResource) }
  },
  locked_by: async (ctx, workspaces) => {
    const by = (type: 'user' | 'run') => workspaces.filter((workspace) => workspace.locked_by_type === type)
    const [users, runs] = await Promise.all([
      includedUsers(ctx, ids(by('user'), 'locked_by_id')),
      includedRuns(ctx, ids(by('run'), 'locked_by_id'), new Set()),
    ])
    return { resources: [...users, ...runs.resources] }
  },
  outputs: async (ctx, workspaces) => {
    const readable = workspaces.filter((workspace) => workspace.can.has('state-outputs:read'))
    const outputs = await listOutputsOf(ctx, ids(readable, 'current_state_version_id'))
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
    return { resources: variables.map((row) => variableResource(row)), relationships }
  },
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
  // A workspace has neither: the first comes from version control, the second from health assessments.
  readme: async () => ({ resources: [] }),
  current_assessment_result: async () => ({ resources: [] }),
} as const satisfies Record<string, Loader>

const OF_RUN = ['plan', 'apply', 'created_by', 'configuration_version', 'configuration_version.ingress_attributes']

export const INCLUDES = [
  ...Object.keys(LOADERS),
  ...OF_RUN.flatMap((name) => [`current_run.${name}`, `latest_run.${name}`]),
  'current_configuration_version.ingress_attributes',
  // An attribute, which the state version has anyway.
  'current_state_version.resources_processed',
]

async function includedRuns(ctx: Ctx, runIds: readonly string[], nested: ReadonlySet<string>): Promise<Inclusion> {
  const { resources, included = [] } = await runDocuments(ctx, await listReadableRuns(ctx, runIds), nested)
  return { resources: [...resources, ...included] }
}

/** Presents workspaces with what `includes` names; the number of queries does not depend on how many they are. */
export async function workspaceDocuments(ctx: Ctx, workspaces: readonly Workspace[], includes: ReadonlySet<string>) {
  const loaders: Record<string, Loader> = LOADERS
  const [waiting, ...inclusions] = await Promise.all([
    listWaitingReasons(ctx, ids(workspaces.filter(mayWait), 'id')),
    ...[...byRelation(includes)].flatMap(([name, nested]) => loaders[name]?.(ctx, workspaces, nested) ?? []),
  ])
  const resources = workspaces.map((workspace) =>
    workspaceResource(workspace, {
      relationships: Object.assign({}, ...inclusions.map(({ relationships }) => relationships?.get(workspace.id))),
      waitingReason: waiting.get(workspace.id) ?? null,
    }),
  )
  if (includes.size === 0) return { resources }
  const included = new Map(
    inclusions.flatMap(({ resources }) => resources.map((resource) => [`${resource.type}/${resource.id}`, resource])),
  )
  return { resources, included: [...included.values()] }
}

/** Whether a run may wait there: an idle workspace costs no look. */
function mayWait({ active_run_id, waiting_runs, can }: Workspace) {
  return (active_run_id !== null || waiting_runs > 0) && can.has('runs:read')
}

/** As `workspaceDocuments`, for one. */
export async function workspaceDocument(ctx: Ctx, workspace: Workspace, includes: ReadonlySet<string>) {
  const { resources, included } = await workspaceDocuments(ctx, [workspace], includes)
  return { resource: resources[0] ?? workspaceResource(workspace), included }
}

/** `current_run`, `current_run.plan` → `current_run` with `plan` below it. */
function byRelation(includes: ReadonlySet<string>) {
  const relations = new Map<string, Set<string>>()
  for (const path of includes) {
    const [name = '', ...rest] = path.split('.')
    const nested = relations.get(name) ?? new Set()
    if (rest.length > 0) nested.add(rest.join('.'))
    relations.set(name, nested)
  }
  return relations
}

/** The ids in that column, each once. */
function ids(
  workspaces: readonly Workspace[],
  column:
    | 'id'
    | 'organization_id'
    | 'project_id'
    | 'current_run_id'
    | 'latest_run_id'
    | 'current_configuration_version_id'
    | 'current_state_version_id'
    | 'locked_by_id',
) {
  return [...new Set(workspaces.flatMap((workspace) => workspace[column] ?? []))]
}
