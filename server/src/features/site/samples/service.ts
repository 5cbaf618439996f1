import { join } from 'node:path'
import { Readable } from 'node:stream'
import { create } from 'tar'
import type { z } from 'zod'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { conflict, notFound } from '../../../errors.ts'
import type { Organization } from '../../organizations/organizations/access.ts'
import { listReadableProjects } from '../../organizations/projects/access.ts'
import { deleteProject, createProject } from '../../organizations/projects/service.ts'
import { createConfigurationVersion } from '../../runs/configuration-versions/service.ts'
import { findConfigurationVersionRow } from '../../runs/configuration-versions/store.ts'
import { uploadConfiguration } from '../../runs/configuration-versions/upload.ts'
import { uploadUrl } from '../../runs/configuration-versions/urls.ts'
import { createRunTrigger } from '../../runs/run-triggers/service.ts'
import { deleteWorkspace } from '../../runs/workspace-deletion/service.ts'
import { deleteTask, updateTask, insertTask } from '../../tasks/run-tasks/service.ts'
import { deleteWorkspaceTask, createWorkspaceTask } from '../../tasks/workspace-tasks/service.ts'
import { deleteVariableSet, createVariableSet } from '../../workspaces/variable-sets/service.ts'
import { createWorkspaceVariable } from '../../workspaces/variables/service.ts'
import { listReadableWorkspaces, requireWorkspace } from '../../workspaces/workspaces/access.ts'
import { addRemoteStateConsumers, createWorkspace } from '../../workspaces/workspaces/service.ts'
import {
  type Configuration,
  type Sample,
  checkSampleMaker,
  isFormerReceiver,
  reasonToKeep,
  requireSample,
  requireSampleMaker,
  sampleAudit,
  sampleReceiver,
  freeName,
  uploadJob,
} from './parts.ts'
import * as parts from './parts.ts'
import * as store from './store.ts'

/** Creates the sample of an organization, or its missing parts. Background jobs upload the configurations and start the first run. */
export async function createSample(ctx: Ctx, organizationName: string) {
  const isNew = await transact(ctx, async (ctx) => {
    const organization = await requireSampleMaker(ctx, organizationName)
    const inserted = await store.insertSample(ctx.db, {
      id: ctx.newId('sample'),
      organization_id: organization.id,
      created_by_user_id: ctx.actor.kind === 'user' ? ctx.actor.userId : null,
      created_at: ctx.now(),
    })
    const sample = inserted ?? (await store.lockSample(ctx.db, organization.id))
    if (!sample) throw conflict('the sample is being removed: try again in a moment')
    const isChanged = await ensureParts(ctx, organization, sample)
    if (inserted || isChanged) await recordAudit(ctx, sampleAudit(sample, inserted ? 'create' : 'update'))
    return inserted !== undefined
  })
  const shown = await showSample(ctx, organizationName)
  if (!(await moveTask(ctx, shown))) return { isNew, sample: shown }
  return { isNew, sample: await showSample(ctx, organizationName) }
}

/** Updates the task after a change of the server's address. Returns whether it was changed. */
async function moveTask(ctx: Ctx, { row, contents: { task } }: Awaited<ReturnType<typeof showSample>>) {
  const { url } = sampleReceiver(ctx, row.id)
  if (!task || !isFormerReceiver(task.url, url)) return false
  await updateTask(ctx, task.id, { type: 'tasks', attributes: { url }, relationships: {} })
  return true
}

export async function showSample(ctx: Ctx, organizationName: string): Promise<Sample> {
  const { organization, sample } = await requireSample(ctx, organizationName)
  const all = await store.findContents(ctx.db, sample)
  const { network, app, trigger, project, set, task, attachments } = all
  const ids = [network, app].flatMap((workspace) => workspace?.id ?? [])
  const [workspaces, projects] = await Promise.all([
    listReadableWorkspaces(ctx, [...ids, ...attachments.map((attachment) => attachment.workspace_id)]),
    listReadableProjects(ctx, project ? [project.id] : []),
  ])
  const readable = new Set(workspaces.map(({ id }) => id))
  const seen = <T extends { id: string }>(part: T | undefined) => (part && readable.has(part.id) ? part : undefined)
  const sees = { network: seen(network), app: seen(app) }
  return {
    row: sample,
    organizationName: organization.name,
    isComplete:
      ![network, app, trigger, project, set, task].includes(undefined) &&
      ids.every((id) => attachments.some((attachment) => attachment.workspace_id === id)),
    contents: {
      ...sees,
      trigger: sees.network && sees.app && trigger,
      project: projects.length > 0 ? project : undefined,
      set: projects.length > 0 && organization.can.has('variable-sets:read') ? set : undefined,
      task: organization.can.has('run-tasks:read') ? task : undefined,
      attachments: attachments.filter((attachment) => readable.has(attachment.workspace_id)),
    },
  }
}

/** Removes the sample, including active runs and resources, through the services. A project with other contents is kept. */
export async function deleteSample(ctx: Ctx, organizationName: string) {
  const { organization } = await requireSample(ctx, organizationName)
  checkSampleMaker(organization)
  await transact(ctx, async (ctx) => {
    const sample = await store.lockSample(ctx.db, organization.id)
    if (!sample) throw notFound('sample')
    const { network, app, task, set, project, attachments } = await store.findContents(ctx.db, sample)
    // Downstream first, so that the deletion of the source starts no run of the app.
    const workspaces = [app, network].flatMap((workspace) => workspace ?? [])
    for (const { id } of workspaces) await deleteWorkspace(ctx, { id }, { isForced: true })
    for (const { id, workspace_id: workspaceId } of attachments) {
      if (!workspaces.some((workspace) => workspace.id === workspaceId))
        await deleteWorkspaceTask(ctx, { workspaceId, id })
    }
    if (task) await deleteTask(ctx, task.id)
    if (set) await deleteVariableSet(ctx, set.id)
    if (project && reasonToKeep(project) === undefined) await deleteProject(ctx, project.id)
    await store.deleteSample(ctx.db, sample.id)
    await recordAudit(ctx, sampleAudit(sample, 'destroy'))
  })
}

const DIRECTORY = join(import.meta.dirname, 'configurations')

/** Uploads configurations as the creator of their versions. Ignores deleted versions and those with an archive. */
export async function uploadSampleConfigurations(ctx: Ctx, { versions }: z.infer<typeof uploadJob.data>) {
  for (const { id, configuration } of versions) {
    const version = await findConfigurationVersionRow(ctx.db, id)
    if (version?.status !== 'pending') continue
    const token = uploadUrl(ctx, version).split('/').at(-1) ?? ''
    await uploadConfiguration(ctx, token, Readable.from(pack(configuration)))
  }
}

/** Deterministic bytes, so that a repeated upload is recognised. */
function pack(configuration: Configuration) {
  const options = { cwd: join(DIRECTORY, configuration), gzip: true, portable: true, mtime: new Date(0) }
  return create(options, ['.'])
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

/** Schedules missing configurations. The network's comes last, since it starts a run whose apply starts a run of the app. */
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
