import type { CreateVariable } from '@groundstate/contract/variables'
import { z } from 'zod'
import type { App, TransactionCtx } from '../../../app.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { OWN_RECEIVER_PATH } from '../../../outbound/loopback-server.ts'
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
import * as store from './store.ts'

/** Directories in `configurations/`, one for each workspace of the sample. */
const CONFIGURATIONS = ['network', 'app'] as const
export type Configuration = (typeof CONFIGURATIONS)[number]

/** Uploads the configurations of a new sample, in this order. */
export const uploadJob = jobKind(
  'samples.upload',
  z.object({ versions: z.array(z.object({ id: z.string(), configuration: z.enum(CONFIGURATIONS) })) }),
  { timeLimitMs: 60_000 },
)

/** The receiver URL of a sample's task, and the key that signs its requests. Both are derived, not stored. */
export function sampleReceiver({ baseUrl, secrets }: Pick<App, 'baseUrl' | 'secrets'>, sampleId: string) {
  return { url: `${baseUrl}${OWN_RECEIVER_PATH}`, hmacKey: secrets.digest(sampleId, 'sample-receiver') }
}

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
  const consumers = [{ type: 'workspaces', id: app.id }]
  if (!isLinked) await changeRemoteStateConsumers(ctx, network.id, { change: 'add', consumers })
  const detached = [network.id, app.id].filter((id) => !before.attachments.some((known) => known.workspace_id === id))
  for (const id of detached) await attach(ctx, id, taskId)
  if (!before.trigger)
    await createRunTrigger(ctx, await requireWorkspace(ctx, app.id, 'run-triggers:manage'), network.id)
  if (!isLinked) await configure(ctx, { network: network.id, app: app.id })

  const isChanged = Object.entries(ids).some(([column, id]) => sample[column as keyof typeof ids] !== id)
  return isChanged || detached.length > 0 || !before.trigger
}

type Named = [table: store.NamedTable, name: string]

/** The name if it is available, otherwise the first available one with a number: `sample-app`, `sample-app-2` … */
async function nameFor(ctx: TransactionCtx, organization: Organization, [table, base]: Named) {
  const prefix = base.toLowerCase()
  const taken = await store.listTakenNames(ctx.db, table, { organizationId: organization.id, prefix })
  const separator = table === 'projects' ? ' ' : '-'
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? base : `${base}${separator}${number}`
    if (!taken.has(name.toLowerCase())) return name
  }
}

async function addProject(ctx: TransactionCtx, organization: Organization) {
  const name = await nameFor(ctx, organization, ['projects', 'Sample'])
  const description = 'Demonstrates this server with resources that do not exist. You can delete it in one click.'
  const { id } = await createProject(ctx, organization.name, {
    type: 'projects',
    attributes: { name, description },
    relationships: { 'tag-bindings': { data: [binding('purpose', 'sample')] } },
  })
  return id
}

const DESCRIPTIONS: Record<Configuration, string> = {
  network: 'An imaginary network: subnets, firewall rules and a gateway. Its first run waits for approval.',
  app: 'Services that read the outputs of the network. A run trigger starts the runs.',
}

type NewWorkspace = { configuration: Configuration; projectId: string; variables: readonly CreateVariable[] }

async function addWorkspace(ctx: TransactionCtx, organization: Organization, workspace: NewWorkspace) {
  const { configuration, projectId, variables } = workspace
  const name = await nameFor(ctx, organization, ['workspaces', `sample-${configuration}`])
  const { id } = await createWorkspace(ctx, organization.name, {
    input: {
      type: 'workspaces',
      attributes: { name, description: DESCRIPTIONS[configuration] },
      relationships: {
        project: { data: { type: 'projects', id: projectId } },
        tags: { data: [{ type: 'tags', attributes: { name: 'sample' } }] },
        'tag-bindings': { data: [binding('layer', configuration), binding('environment', 'production')] },
      },
    },
  })
  for (const variable of variables) await createWorkspaceVariable(ctx, id, variable)
  return { id, name }
}

function binding(key: string, value: string) {
  return { type: 'tag-bindings' as const, attributes: { key, value } }
}

async function addNetwork(ctx: TransactionCtx, organization: Organization, projectId: string) {
  return addWorkspace(ctx, organization, { configuration: 'network', projectId, variables: NETWORK_VARIABLES })
}

const NETWORK_VARIABLES: readonly CreateVariable[] = [
  {
    key: 'environment',
    value: 'production',
    category: 'terraform',
    description: 'Overrides the value of the variable set. Change it to see the gateway replaced.',
  },
  {
    key: 'subnets',
    value: `{
  edge = { cidr = "10.20.1.0/24", public = true }
  apps = { cidr = "10.20.2.0/24", public = false }
  data = { cidr = "10.20.3.0/24", public = false }
}`,
    category: 'terraform',
    hcl: true,
    description: 'Remove one to see a plan that destroys resources.',
  },
  {
    key: 'vpn_password',
    value: 'this-is-no-secret',
    category: 'terraform',
    sensitive: true,
    description: 'Sensitive: it can be changed but not read.',
  },
  {
    key: 'TF_VAR_cost_center',
    value: '4711',
    category: 'env',
    description: 'An environment variable of the engine. This one sets the variable cost_center.',
  },
]

type AppParts = { projectId: string; network: string }

/** The app reads the outputs of the network by the names from the creation of the sample. */
async function addApp(ctx: TransactionCtx, organization: Organization, { projectId, network }: AppParts) {
  const variable: CreateVariable = {
    key: 'network',
    value: `{\n  organization = ${JSON.stringify(organization.name)}\n  workspace    = ${JSON.stringify(network)}\n}`,
    category: 'terraform',
    hcl: true,
    description: 'The workspace whose outputs this one reads.',
  }
  return addWorkspace(ctx, organization, { configuration: 'app', projectId, variables: [variable] })
}

async function addVariableSet(ctx: TransactionCtx, organization: Organization, projectId: string) {
  const name = await nameFor(ctx, organization, ['variable_sets', 'sample-settings'])
  const variable = (key: string, value: string, description: string) => ({
    type: 'vars' as const,
    attributes: { key, value, category: 'terraform' as const, description },
  })
  const owner = variable('owner', 'platform team', 'The owner of the resources of the sample.')
  const environment = variable('environment', 'development', 'Used where a workspace sets no value.')
  const { id } = await createVariableSet(ctx, organization.name, {
    type: 'varsets',
    attributes: { name, description: 'For all workspaces of the project.', global: true },
    relationships: {
      parent: { data: { type: 'projects', id: projectId } },
      vars: { data: [owner, environment] },
    },
  })
  return id
}

async function addTask(ctx: TransactionCtx, organization: Organization, sampleId: string) {
  const name = await nameFor(ctx, organization, ['tasks', 'sample-review'])
  const { url, hmacKey } = sampleReceiver(ctx, sampleId)
  const description = 'Reviews the plan and reports findings. This server is its receiver.'
  return insertTask(ctx, organization, {
    attributes: { name, url, category: 'task', description, 'hmac-key': hmacKey },
  })
}

async function attach(ctx: TransactionCtx, workspaceId: string, taskId: string) {
  await createWorkspaceTask(ctx, workspaceId, {
    type: 'workspace-tasks',
    attributes: { 'enforcement-level': 'advisory', stages: ['post_plan'] },
    relationships: { task: { data: { type: 'tasks', id: taskId } } },
  })
}

/** Schedules missing configurations. The network's comes last, since it starts a run whose apply starts a run of the app. */
async function configure(ctx: TransactionCtx, workspaces: Record<Configuration, string>) {
  const versions: { id: string; configuration: Configuration }[] = []
  for (const configuration of ['app', 'network'] as const) {
    const workspaceId = workspaces[configuration]
    if (await store.hasConfiguration(ctx.db, workspaceId)) continue
    const input = { 'auto-queue-runs': configuration === 'network' }
    const { id } = await createConfigurationVersion(ctx, workspaceId, { input, source: 'tfe-api' })
    versions.push({ id, configuration })
  }
  await ctx.jobs.enqueue(ctx.db, uploadJob, { versions })
}
