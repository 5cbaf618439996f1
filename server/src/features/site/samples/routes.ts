import type { Readable } from 'node:stream'
import { documentOf } from '@groundstate/contract/responses'
import { type SampleResource, sampleSchema } from '@groundstate/contract/samples'
import type { Routes } from '../../../http/http.ts'
import { created, ok } from '../../../http/responses.ts'
import { OWN_RECEIVER_PATH } from '../../../outbound/loopback-server.ts'
import { SAMPLE_PERMISSIONS, type Sample, counted, keptBecause } from './parts.ts'
import { receiveSampleRequest } from './review.ts'
import { createSample, deleteSample, showSample } from './service.ts'

const SAMPLE = documentOf(sampleSchema)
/** A request of a run task has about 2 kB. */
const MAX_REQUEST_BYTES = 64 * 1024

export const sampleRoutes: Routes = (http) => {
  http.get(
    '/organizations/:organization/sample',
    {
      summary: 'Show the sample of an organization, and what goes when it is removed',
      access: { organization: 'organization:read' },
      responses: { 200: SAMPLE },
    },
    async (req) => ok(sampleResource(await showSample(req.ctx, req.params.organization))),
  )
  http.post(
    '/organizations/:organization/actions/make-sample',
    {
      summary: 'Make a sample: workspaces with a run, a run task and a run trigger',
      access: { organization: SAMPLE_PERMISSIONS, workspace: 'runs:plan' },
      audit: [
        'workspace add_remote_state_consumers',
        'configuration_version create',
        'project create',
        'run_trigger create',
        'sample create',
        'task create',
        'variable create',
        'variable_set create',
        'workspace create',
        'workspace_task create',
      ],
      responses: { 200: SAMPLE, 201: SAMPLE },
    },
    async (req) => {
      const { isNew, sample } = await createSample(req.ctx, req.params.organization)
      return isNew ? created(sampleResource(sample)) : ok(sampleResource(sample))
    },
  )
  http.delete(
    '/organizations/:organization/sample',
    {
      summary: 'Remove the sample of an organization',
      access: { organization: SAMPLE_PERMISSIONS },
      audit: ['project destroy', 'sample destroy', 'task destroy', 'variable_set destroy', 'workspace destroy'],
      responses: { 204: null },
    },
    async (req) => deleteSample(req.ctx, req.params.organization),
  )

  http.post(
    OWN_RECEIVER_PATH,
    {
      summary: "Receive the request of a sample's run task",
      access: 'signed',
      audit: { none: 'it takes the request of a task, whose callbacks leave events' },
      prefix: '',
      // A stream: the signature is over the bytes.
      upload: true,
      maxBytes: MAX_REQUEST_BYTES,
      responses: { 200: null },
    },
    async (req) => {
      const body = await readAll(req.raw.body as Readable)
      await receiveSampleRequest(req.ctx, { body, signature: req.header('x-svc-task-signature') ?? '' })
      return { status: 200 }
    },
  )
}

async function readAll(body: Readable) {
  const chunks: Buffer[] = []
  for await (const chunk of body as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks)
}

type Removed = SampleResource['attributes']['removes'][number]

function sampleResource({ row, organizationName, isComplete, contents }: Sample): SampleResource {
  const { network, app, set, task, project } = contents
  const reason = project && keptBecause(project)
  return {
    id: row.id,
    type: 'samples',
    attributes: {
      'created-at': row.created_at,
      'is-complete': isComplete,
      removes: removed(contents),
      keeps: project && reason !== undefined ? [{ type: 'projects', id: project.id, name: project.name, reason }] : [],
    },
    relationships: {
      organization: { data: { id: organizationName, type: 'organizations' } },
      'created-by': linkage('users', row.created_by_user_id),
      project: linkage('projects', project?.id),
      network: linkage('workspaces', network?.id),
      app: linkage('workspaces', app?.id),
      'variable-set': linkage('varsets', set?.id),
      task: linkage('tasks', task?.id),
      run: linkage('runs', network?.run_id),
    },
    links: { self: `/api/v2/organizations/${organizationName}/sample` },
  }
}

/** The parts deleted with the sample, in the order in which a user would name them. */
function removed({ network, app, trigger, set, task, project, attachments }: Sample['contents']): Removed[] {
  const workspaces = [network, app].flatMap((workspace) => workspace ?? [])
  const own = new Set(workspaces.map(({ id }) => id))
  const elsewhere = attachments.filter((attachment) => !own.has(attachment.workspace_id))
  return [
    ...workspaces.map(({ id, name, runs, resource_count: resources }): Removed => {
      const detail = `${counted(runs, 'run')} and ${counted(resources, 'resource')} in its state`
      return { type: 'workspaces', id, name, detail }
    }),
    ...(trigger ? [{ ...trigger, type: 'run-triggers' as const, detail: null }] : []),
    ...(task ? [{ type: 'tasks' as const, id: task.id, name: task.name, detail: null }] : []),
    ...elsewhere.map(({ id, workspace_name: workspace }): Removed => {
      const detail = 'attached there by a person: the workspace stays, and its runs no longer ask the task'
      return { type: 'workspace-tasks', id, name: `${task?.name ?? 'the task'} on ${workspace}`, detail }
    }),
    ...(set ? [{ type: 'varsets' as const, id: set.id, name: set.name, detail: null }] : []),
    ...(project && keptBecause(project) === undefined
      ? [{ type: 'projects' as const, id: project.id, name: project.name, detail: null }]
      : []),
  ]
}

function linkage<Type extends string>(type: Type, id: string | null | undefined) {
  return { data: id === null || id === undefined ? null : { id, type } }
}
