import { join } from 'node:path'
import { Readable } from 'node:stream'
import { create } from 'tar'
import type { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { type AuditEvent, recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { conflict, forbidden, notFound } from '../../../errors.ts'
import { OWN_RECEIVER_PATH } from '../../../outbound/loopback-server.ts'
import { type Organization, requireOrganization } from '../../organizations/organizations/access.ts'
import { listReadableProjects } from '../../organizations/projects/access.ts'
import { deleteProject } from '../../organizations/projects/service.ts'
import { findConfigurationVersionRow } from '../../runs/configuration-versions/store.ts'
import { uploadConfiguration } from '../../runs/configuration-versions/upload.ts'
import { uploadUrl } from '../../runs/configuration-versions/urls.ts'
import { fireOutbound } from '../../runs/run-triggers/fire.ts'
import { deleteWorkspace } from '../../runs/workspace-deletion/service.ts'
import { deleteTask, updateTask } from '../../tasks/run-tasks/service.ts'
import { deleteWorkspaceTask } from '../../tasks/workspace-tasks/service.ts'
import { deleteVariableSet } from '../../workspaces/variable-sets/service.ts'
import { listReadableWorkspaces } from '../../workspaces/workspaces/access.ts'
import { type Configuration, type uploadJob, ensureParts, sampleReceiver } from './parts.ts'
import * as store from './store.ts'

/** Permissions to create and remove a sample, in addition to those for its parts. */
export const SAMPLE_PERMISSIONS = [
  'projects:create',
  'workspaces:create',
  'variable-sets:manage',
  'run-tasks:manage',
] as const

/** Throws `forbidden` with all missing permissions. */
function checkSampleMaker({ name, can }: Organization) {
  const missing = SAMPLE_PERMISSIONS.filter((permission) => !can.has(permission))
  if (missing.length === 0) return
  const what = missing.length === 1 ? 'the permission' : 'the permissions'
  throw forbidden(`creating and removing a sample needs ${what} ${missing.join(', ')} in the organization ${name}`)
}

async function requireSample(ctx: Ctx, organizationName: string) {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  const sample = await store.findSample(ctx.db, organization.id)
  if (!sample) throw notFound('sample')
  return { organization, sample }
}

function sampleAudit({ id, organization_id: organizationId }: store.SampleRow, action: string): AuditEvent {
  return { organizationId, action, resource: { type: 'sample', id }, notices: [] }
}

/** Creates the sample of an organization, or its missing parts. Background jobs upload the configurations and start the first run. */
export async function createSample(ctx: Ctx, organizationName: string) {
  const isNew = await transact(ctx, async (ctx) => {
    const organization = await requireOrganization(ctx, organizationName, 'organization:read')
    checkSampleMaker(organization)
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
async function moveTask(ctx: Ctx, { row, contents: { task } }: Sample) {
  const { url } = sampleReceiver(ctx, row.id)
  if (!task || task.url === url || !URL.parse(task.url)?.pathname.endsWith(OWN_RECEIVER_PATH)) return false
  await updateTask(ctx, task.id, { type: 'tasks', attributes: { url }, relationships: {} })
  return true
}

export type Sample = {
  row: store.SampleRow
  organizationName: string
  isComplete: boolean
  contents: store.SampleContents
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

/** The reason to keep the project when the sample is removed; undefined if it is deleted. */
export function reasonToKeep(project: NonNullable<store.SampleContents['project']>) {
  const { is_default: isDefault, foreign_workspaces: workspaces, foreign_sets: sets } = project
  if (isDefault) return "it is the organization's default project"
  const others = [
    ...(workspaces > 0 ? [counted(workspaces, 'other workspace')] : []),
    ...(sets > 0 ? [counted(sets, 'other variable set')] : []),
  ]
  return others.length === 0 ? undefined : `it has ${others.join(' and ')}`
}

/** A number with its noun: `1 run`, `2 runs`. */
export function counted(count: number, noun: string) {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** Removes the sample, including active runs and resources, through the services. A project with other contents is kept. */
export async function deleteSample(ctx: Ctx, organizationName: string) {
  const { organization, sample } = await requireSample(ctx, organizationName)
  checkSampleMaker(organization)
  const { network, app } = await store.findContents(ctx.db, sample)
  const ids = [app, network].flatMap((workspace) => workspace?.id ?? [])
  for (const id of ids) await fireOutbound(ctx, id, ids)
  await transact(ctx, async (ctx) => {
    const sample = await store.lockSample(ctx.db, organization.id)
    if (!sample) throw notFound('sample')
    const { network, app, task, set, project, attachments } = await store.findContents(ctx.db, sample)
    // Downstream first, so that no trigger between them counts as unfired.
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
