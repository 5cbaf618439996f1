import type { TransactionCtx } from '../../../app.ts'
import type { Organization } from '../../organizations/organizations/access.ts'
import { createProject } from '../../organizations/projects/service.ts'
import { createConfigurationVersion } from '../../runs/configuration-versions/service.ts'
import { createRunTrigger } from '../../runs/run-triggers/service.ts'
import { insertTask } from '../../tasks/run-tasks/service.ts'
import { createWorkspaceTask } from '../../tasks/workspace-tasks/service.ts'
import { createVariableSet } from '../../workspaces/variable-sets/service.ts'
import { createWorkspaceVariable } from '../../workspaces/variables/service.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import { addRemoteStateConsumers, createWorkspace } from '../../workspaces/workspaces/service.ts'
import { freeName, sampleReceiver, uploadJob } from './parts.ts'
import * as parts from './parts.ts'
import * as store from './store.ts'

/** Creates the missing parts of the sample through the services, which check permissions and limits. Returns whether any was missing. */
export async function ensureParts(ctx: TransactionCtx, organization: Organization, sample: store.SampleRow) {
  const before = await store.findContents(ctx.db, sample)
  const projectId = sample.project_id ?? (await addProject(ctx, organization))
  const network = before.network ?? (await addNetwork(ctx, organization, projectId))
  const app = before.app ?? (await addApp(ctx, organization, { projectId, network: network.name }))
  const setId = sample.variable_set_id ?? (await addVariableSet(ctx, organization, projectId))
  const taskId = sample.task_id ?? (await addTask(ctx, organization, sample.id))
  const ids = {
    project_id: projectId,
    network_workspace_id: network.id,
    app_workspace_id: app.id,
    variable_set_id: setId,
    task_id: taskId,
  }
  await store.updateSample(ctx.db, sample.id, ids)

  const isLinked = before.network !== undefined && before.app !== undefined
  if (!isLinked) await addRemoteStateConsumers(ctx, network.id, [{ type: 'workspaces', id: app.id }])
  const detached = [network.id, app.id].filter((id) => !before.attachments.some((known) => known.workspace_id === id))
  for (const id of detached) await attach(ctx, id, taskId)
  if (!before.trigger) {
    await createRunTrigger(ctx, await requireWorkspace(ctx, app.id, 'run-triggers:manage'), network.id)
  }
  if (!isLinked) await configure(ctx, { network: network.id, app: app.id })

  const isChanged = Object.entries(ids).some(([column, id]) => sample[column as keyof typeof ids] !== id)
  return isChanged || detached.length > 0 || !before.trigger
}

type Named = [table: store.NamedTable, name: string]

async function nameFor(ctx: TransactionCtx, organization: Organization, [table, name]: Named) {
  const prefix = name.toLowerCase()
  const taken = await store.listTakenNames(ctx.db, table, { organizationId: organization.id, prefix })
  return freeName(name, taken, table === 'projects' ? ' ' : '-')
}

async function addProject(ctx: TransactionCtx, organization: Organization) {
  const name = await nameFor(ctx, organization, ['projects', parts.NAMES.project])
  return (await createProject(ctx, organization.name, parts.projectInput(name))).id
}

async function addNetwork(ctx: TransactionCtx, organization: Organization, projectId: string) {
  const network = await addWorkspace(ctx, organization, { configuration: 'network', projectId })
  for (const variable of parts.NETWORK_VARIABLES) await createWorkspaceVariable(ctx, network.id, variable)
  return network
}

type AppParts = { projectId: string; network: string }

async function addApp(ctx: TransactionCtx, organization: Organization, { projectId, network }: AppParts) {
  const app = await addWorkspace(ctx, organization, { configuration: 'app', projectId })
  for (const variable of parts.appVariables(organization.name, network))
    await createWorkspaceVariable(ctx, app.id, variable)
  return app
}

type NewWorkspace = { configuration: parts.Configuration; projectId: string }

async function addWorkspace(
  ctx: TransactionCtx,
  organization: Organization,
  { configuration, projectId }: NewWorkspace,
) {
  const name = await nameFor(ctx, organization, ['workspaces', parts.NAMES[configuration]])
  const input = parts.workspaceInput(configuration, { name, projectId })
  const { id } = await createWorkspace(ctx, organization.name, { input })
  return { id, name }
}

async function addVariableSet(ctx: TransactionCtx, organization: Organization, projectId: string) {
  const name = await nameFor(ctx, organization, ['variable_sets', parts.NAMES.variableSet])
  return (await createVariableSet(ctx, organization.name, parts.variableSetInput(name, projectId))).id
}

async function addTask(ctx: TransactionCtx, organization: Organization, sampleId: string) {
  const name = await nameFor(ctx, organization, ['tasks', parts.NAMES.task])
  const attributes = parts.taskAttributes(name, sampleReceiver(ctx, sampleId))
  return insertTask(ctx, organization, { attributes })
}

async function attach(ctx: TransactionCtx, workspaceId: string, taskId: string) {
  await createWorkspaceTask(ctx, workspaceId, {
    type: 'workspace-tasks',
    attributes: { 'enforcement-level': 'advisory', stages: ['post_plan'] },
    relationships: { task: { data: { type: 'tasks', id: taskId } } },
  })
}

/**
 * Schedules the configurations of workspaces without one. The network's starts its first run, and comes after the app's, since the
 * apply of the network starts a run of the app.
 */
async function configure(ctx: TransactionCtx, workspaces: Record<parts.Configuration, string>) {
  const versions: { id: string; configuration: parts.Configuration }[] = []
  for (const configuration of ['app', 'network'] as const) {
    const workspaceId = workspaces[configuration]
    if (await store.hasConfiguration(ctx.db, workspaceId)) continue
    const input = { 'auto-queue-runs': configuration === 'network' }
    const { id } = await createConfigurationVersion(ctx, workspaceId, { input, source: 'tfe-api' })
    versions.push({ id, configuration })
  }
  await ctx.jobs.enqueue(ctx.db, uploadJob, { versions })
}
