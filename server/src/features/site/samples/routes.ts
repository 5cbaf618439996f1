import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { documentOf } from '@groundstate/contract/responses'
import { type SampleResource, sampleSchema } from '@groundstate/contract/samples'
import { type JobHandler, jobHandler } from '../../../handlers.ts'
import type { Routes } from '../../../http/http.ts'
import { created, ok } from '../../../http/responses.ts'
import { OWN_RECEIVER_PATH } from '../../../outbound/loopback-server.ts'
import { uploadJob } from './parts.ts'
import { receiveSampleRequest, reportSampleResult, reviewJob } from './review.ts'
import * as service from './service.ts'

const SAMPLE = documentOf(sampleSchema)
/** The request of a run task has about 2 kB. */
const MAX_REQUEST_BYTES = 64 * 1024

export const sampleJobs: readonly JobHandler[] = [
  jobHandler(uploadJob, async (ctx, data) => service.uploadSampleConfigurations(ctx, data)),
  jobHandler(reviewJob, async (ctx, data, signal) => reportSampleResult(ctx, data, signal)),
]

export const sampleRoutes: Routes = (http) => {
  http.get(
    '/organizations/:organization/sample',
    {
      summary: 'Show the sample of an organization, and what its removal deletes',
      access: { organization: 'organization:read' },
      responses: { 200: SAMPLE },
    },
    async (req) => ok(sampleResource(await service.showSample(req.ctx, req.params.organization))),
  )
  http.post(
    '/organizations/:organization/actions/make-sample',
    {
      summary: 'Create a sample: workspaces with a run, a run task and a run trigger',
      access: { organization: service.SAMPLE_PERMISSIONS, workspace: 'runs:plan' },
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
      const { isNew, sample } = await service.createSample(req.ctx, req.params.organization)
      return (isNew ? created : ok)(sampleResource(sample))
    },
  )
  http.delete(
    '/organizations/:organization/sample',
    {
      summary: 'Remove the sample of an organization',
      access: { organization: service.SAMPLE_PERMISSIONS },
      audit: ['project destroy', 'sample destroy', 'task destroy', 'variable_set destroy', 'workspace destroy'],
      responses: { 204: null },
    },
    async (req) => service.deleteSample(req.ctx, req.params.organization),
  )

  http.post(
    OWN_RECEIVER_PATH,
    {
      summary: "Receive the request of a sample's run task",
      access: 'signed',
      audit: { none: 'the callbacks of the request record events' },
      prefix: '',
      // A stream, since the signature covers the bytes.
      upload: true,
      maxBytes: MAX_REQUEST_BYTES,
      responses: { 200: null },
    },
    async (req) => {
      const body = await buffer(req.raw.body as Readable)
      await receiveSampleRequest(req.ctx, { body, signature: req.header('x-svc-task-signature') ?? '' })
      return { status: 200 }
    },
  )
}

type Removed = SampleResource['attributes']['removes'][number]

function sampleResource({ row, organizationName, isComplete, contents }: service.Sample): SampleResource {
  const { network, app, set, task, project } = contents
  const reason = project && service.reasonToKeep(project)
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

/** The parts deleted with the sample, the most important first. */
function removed({ network, app, trigger, set, task, project, attachments }: service.Sample['contents']): Removed[] {
  const workspaces = [network, app].flatMap((workspace) => workspace ?? [])
  const own = new Set(workspaces.map(({ id }) => id))
  const elsewhere = attachments.filter((attachment) => !own.has(attachment.workspace_id))
  return [
    ...workspaces.map(({ id, name, runs, resource_count: resources }): Removed => {
      const detail = `${service.counted(runs, 'run')} and ${service.counted(resources, 'resource')} in its state`
      return { type: 'workspaces', id, name, detail }
    }),
    ...(trigger ? [deleted('run-triggers', trigger)] : []),
    ...(task ? [deleted('tasks', task)] : []),
    ...elsewhere.map(({ id, workspace_name: workspace }): Removed => {
      const detail = 'attached there by a user: the workspace is kept, and its runs no longer use the task'
      return { type: 'workspace-tasks', id, name: `${task?.name ?? 'the task'} on ${workspace}`, detail }
    }),
    ...(set ? [deleted('varsets', set)] : []),
    ...(project && !service.reasonToKeep(project) ? [deleted('projects', project)] : []),
  ]
}

function deleted(type: Removed['type'], { id, name }: { id: string; name: string }): Removed {
  return { type, id, name, detail: null }
}

function linkage<Type extends string>(type: Type, id: string | null | undefined) {
  return { data: id === null || id === undefined ? null : { id, type } }
}
