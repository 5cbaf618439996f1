import type { Readable } from 'node:stream'
import { documentOf } from '@groundstate/contract/responses'
import { sampleSchema } from '@groundstate/contract/samples'
import type { Routes } from '../../../http/http.ts'
import { created, noContent, ok } from '../../../http/responses.ts'
import { OWN_RECEIVER_PATH } from '../../../outbound/own-server.ts'
import { SAMPLE_PERMISSIONS } from './access.ts'
import { createSample } from './create.ts'
import { deleteSample } from './delete.ts'
import { receiveSampleRequest } from './receive-request.ts'
import { sampleResource } from './resource.ts'
import { showSample } from './show.ts'

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
    async (req) => {
      await deleteSample(req.ctx, req.params.organization)
      return noContent()
    },
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
