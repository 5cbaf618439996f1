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
import { changeRemoteStateConsumers, createWorkspace } from '../../workspaces/workspaces/service.ts'
import { freeName, sampleReceiver, uploadJob } from './parts.ts'
import * as parts from './parts.ts'
import * as store from './store.ts'

/**
 * Creates the missing parts of the sample through the services, which check permissions and limits. Existing parts are kept. Returns
 * whether anything was made.
 */
export async function ensureParts(ctx: TransactionCtx, organization: Organization, sample: store.SampleRow) {
  const before = await store.findContents(ctx.db, sample)
  const projectId = sample.project_id ?? (await makeProject(ctx, organization))
  const network = before.network ?? (await makeNetwork(ctx, organization, projectId))
  const app = before.app ?? (await makeApp(ctx, organization, { projectId, network: network.name }))
  const setId = sample.variable_set_id ?? (await makeVariableSet(ctx, organization, projectId))
  const taskId = sample.task_id ?? (await makeTask(ctx, organization, sample.id))
  const ids = {
    project_id: projectId,
    network_workspace_id: network.id,
    app_workspace_id: app.id,
    variable_set_id: setId,
    task_id: taskId,
  }
  await store.updateSample(ctx.db, sample.id, ids)

  const isLinked = before.network !== undefined && before.app !== undefined
  const consumers = [{ type: 'workspaces', id: app.id }]
  if (!isLinked) await changeRemoteStateConsumers(ctx, network.id, { change: 'add', consumers })
  const detached = [network.id, app.id].filter((id) => !before.attachments.some((known) => known.workspace_id === id))
  for (const id of detached) await attach(ctx, id, taskId)
  if (!before.trigger) {
    await createRunTrigger(ctx, await requireWorkspace(ctx, app.id, 'run-triggers:manage'), network.id)
  }
  if (!isLinked) await configure(ctx, { network: network.id, app: app.id })

  const isChanged = Object.entries(ids).some(([column, id]) => sample[column as keyof typeof ids] !== id)
  return isChanged || detached.length > 0 || !before.trigger
}

async function nameFor(
  ctx: TransactionCtx,
  organization: Organization,
  [table, wanted]: [table: store.NamedTable, wanted: string],
) {
  const prefix = wanted.toLowerCase()
  const taken = await store.listTakenNames(ctx.db, table, { organizationId: organization.id, prefix })
  return freeName(wanted, taken, table === 'projects' ? ' ' : '-')
}

async function makeProject(ctx: TransactionCtx, organization: Organization) {
  const name = await nameFor(ctx, organization, ['projects', parts.NAMES.project])
  return (await createProject(ctx, organization.name, parts.projectInput(name))).id
}

async function makeNetwork(ctx: TransactionCtx, organization: Organization, projectId: string) {
  const name = await nameFor(ctx, organization, ['workspaces', parts.NAMES.network])
  const input = parts.workspaceInput('network', { name, projectId })
  const { id } = await createWorkspace(ctx, organization.name, { input })
  for (const variable of parts.NETWORK_VARIABLES) await createWorkspaceVariable(ctx, id, variable)
  return { id, name }
}

async function makeApp(
  ctx: TransactionCtx,
  organization: Organization,
  { projectId, network }: { projectId: string; network: string },
) {
  const name = await nameFor(ctx, organization, ['workspaces', parts.NAMES.app])
  const input = parts.workspaceInput('app', { name, projectId })
  const { id } = await createWorkspace(ctx, organization.name, { input })
  for (const variable of parts.appVariables(organization.name, network))
    await createWorkspaceVariable(ctx, id, variable)
  return { id, name }
}

async function makeVariableSet(ctx: TransactionCtx, organization: Organization, projectId: string) {
  const name = await nameFor(ctx, organization, ['variable_sets', parts.NAMES.variableSet])
  return (await createVariableSet(ctx, organization.name, parts.variableSetInput(name, projectId))).id
}

async function makeTask(ctx: TransactionCtx, organization: Organization, sampleId: string) {
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
 * Gives the workspaces that have never had a configuration theirs, in a moment. That of the network starts its first run. That of the
 * app comes before it, since the apply of the network starts a run there.
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
