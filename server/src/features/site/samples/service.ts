import { join } from 'node:path'
import { Readable } from 'node:stream'
import { create } from 'tar'
import type { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { conflict, notFound } from '../../../errors.ts'
import { listReadableProjects } from '../../organizations/projects/access.ts'
import { deleteProject } from '../../organizations/projects/service.ts'
import { findConfigurationVersionRow } from '../../runs/configuration-versions/store.ts'
import { uploadConfiguration } from '../../runs/configuration-versions/upload.ts'
import { uploadUrl } from '../../runs/configuration-versions/urls.ts'
import { deleteWorkspace } from '../../runs/workspace-deletion/service.ts'
import { deleteTask, updateTask } from '../../tasks/run-tasks/service.ts'
import { deleteWorkspaceTask } from '../../tasks/workspace-tasks/service.ts'
import { deleteVariableSet } from '../../workspaces/variable-sets/service.ts'
import { listReadableWorkspaces } from '../../workspaces/workspaces/access.ts'
import { ensureParts } from './ensure-parts.ts'
import type { uploadJob } from './parts.ts'
import {
  type Configuration,
  type Sample,
  checkSampleMaker,
  isFormerReceiver,
  keptBecause,
  requireSample,
  requireSampleMaker,
  sampleAudit,
  sampleReceiver,
} from './parts.ts'
import * as store from './store.ts'

/**
 * Makes the sample of an organization, or what is missing of it. Its configurations follow in the background, and with them the first
 * run.
 */
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
    if (!sample) throw conflict('the sample is just being removed: make it again in a moment')
    const isChanged = await ensureParts(ctx, organization, sample)
    if (inserted || isChanged) await recordAudit(ctx, sampleAudit(sample, inserted ? 'create' : 'update'))
    return inserted !== undefined
  })
  const shown = await showSample(ctx, organizationName)
  if (!(await moveTask(ctx, shown))) return { isNew, sample: shown }
  return { isNew, sample: await showSample(ctx, organizationName) }
}

/** The server may have got another address since the task was made. Returns whether the task was changed. */
async function moveTask(ctx: Ctx, { row, contents: { task } }: Awaited<ReturnType<typeof showSample>>) {
  const { url } = sampleReceiver(ctx, row.id)
  if (!task || !isFormerReceiver(task.url, url)) return false
  await updateTask(ctx, task.id, { type: 'tasks', attributes: { url }, relationships: {} })
  return true
}

/** The sample of an organization. Throws `not-found` where there is none. */
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

/**
 * Removes the sample of an organization with everything in its workspaces, runs that are under way and resources included, by the verbs
 * that people use, which check permissions. What others have put into its project stays, and the project with it.
 */
export async function deleteSample(ctx: Ctx, organizationName: string) {
  const { organization } = await requireSample(ctx, organizationName)
  checkSampleMaker(organization)
  await transact(ctx, async (ctx) => {
    const sample = await store.lockSample(ctx.db, organization.id)
    if (!sample) throw notFound('sample')
    const { network, app, task, set, project, attachments } = await store.findContents(ctx.db, sample)
    // Downstream first: no run of the app is started while its source goes.
    const workspaces = [app, network].flatMap((workspace) => workspace ?? [])
    for (const { id } of workspaces) await deleteWorkspace(ctx, { id }, { isForced: true })
    for (const { id, workspace_id: workspaceId } of attachments) {
      if (!workspaces.some((workspace) => workspace.id === workspaceId))
        await deleteWorkspaceTask(ctx, { workspaceId, id })
    }
    if (task) await deleteTask(ctx, task.id)
    if (set) await deleteVariableSet(ctx, set.id)
    if (project && keptBecause(project) === undefined) await deleteProject(ctx, project.id)
    await store.deleteSample(ctx.db, sample.id)
    await recordAudit(ctx, sampleAudit(sample, 'destroy'))
  })
}

const DIRECTORY = join(import.meta.dirname, 'configurations')

/** Uploads configurations as the creator of their versions, once. A version that is gone or has its archive is left alone. */
export async function uploadSampleConfigurations(ctx: Ctx, { versions }: z.infer<typeof uploadJob.data>) {
  for (const { id, configuration } of versions) {
    const version = await findConfigurationVersionRow(ctx.db, id)
    if (version?.status !== 'pending') continue
    const token = uploadUrl(ctx, version).split('/').at(-1) ?? ''
    await uploadConfiguration(ctx, token, Readable.from(pack(configuration)))
  }
}

/** The same bytes each time: an upload that is sent twice must be recognised. */
function pack(configuration: Configuration) {
  const options = { cwd: join(DIRECTORY, configuration), gzip: true, portable: true, mtime: new Date(0) }
  return create(options, ['.'])
}
