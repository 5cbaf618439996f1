import type { Readable } from 'node:stream'
import { stateVersionIncludes } from '@groundstate/contract/includes'
import { MAX_STATE_BYTES } from '@groundstate/contract/limits'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import * as contract from '@groundstate/contract/state-versions'
import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import { REQUIRED, boolean } from '../../../http/query.ts'
import { binary, bytes, created, ok, unstored } from '../../../http/responses.ts'
import {
  requireCurrentStateVersion,
  requireRollbackWorkspace,
  requireStateVersion,
  requireStateWorkspace,
} from './access.ts'
import { OBJECT_PATH, openObjectId } from './content-rules.ts'
import { findDownload } from './content-store.ts'
import { openContent } from './content.ts'
import { presentStateVersion, stateVersionResources } from './includes.ts'
import { displayContextOf, displayOptions } from './resource.ts'
import { rollbackStateVersion } from './roll-back.ts'
import { CONTENT_FIELDS, SNAPSHOT_INTERVAL, createStateVersion, listStateVersions } from './service.ts'
import { uploadContent } from './upload.ts'

/** Maximum size of a body with inline content, in bytes: it is assembled in memory on the event loop. Larger content is uploaded. */
const MAX_INLINE_BYTES = 128 * 1024 * 1024

const READ = { access: { workspace: 'state-versions:read' } } as const
const ONE = { responses: { 200: documentOf(contract.stateVersionSchema) }, include: stateVersionIncludes }

const create = {
  summary: 'Create a state version',
  access: { workspace: 'state-versions:write' },
  audit: 'state_version create',
  responses: { 201: documentOf(contract.stateVersionSchema) },
  authorise: async (ctx: Ctx, { workspaceId }: { workspaceId: string }) =>
    requireStateWorkspace(ctx, workspaceId, 'state-versions:write'),
  body: contract.createStateVersionBody,
  maxBytes: MAX_INLINE_BYTES,
  base64Fields: CONTENT_FIELDS,
} as const

const rollBack = {
  summary: 'Roll back to an earlier state version',
  access: { workspace: 'state-versions:write' },
  audit: 'state_version rollback',
  responses: { 201: documentOf(contract.stateVersionSchema) },
  authorise: async (ctx: Ctx, { workspaceId }: { workspaceId: string }) => requireRollbackWorkspace(ctx, workspaceId),
  body: contract.rollbackStateVersionBody,
} as const

const withoutResources = {
  'without-resources': boolean().describe('our own: whether `resources` is empty; large states have megabytes of it'),
}

/** A required name, which must not be repeated; it is not trimmed. */
const requiredName = z
  .string({
    error: ({ input }) =>
      Array.isArray(input) ? `is given ${input.length} times: it must name one` : 'is missing: it must name one',
  })
  .min(1, 'is missing: it must name one')
  .meta(REQUIRED)

const STATUS = z.preprocess(
  (value) => (value === '' ? undefined : value),
  z
    .enum(contract.listedStatus.options, {
      error: ({ input }) =>
        `is ${JSON.stringify(input)}; it must be one of ${contract.listedStatus.options.join(', ')}`,
    })
    .optional(),
)

const list = {
  ...READ,
  summary: 'List the state versions of a workspace',
  responses: { 200: pageOf(contract.stateVersionSchema) },
  include: stateVersionIncludes,
  query: {
    'filter[organization][name]': requiredName,
    'filter[workspace][name]': requiredName,
    'filter[status]': STATUS,
    ...withoutResources,
  },
} as const

const showCurrent = { ...READ, ...ONE, summary: 'Show the current state version of a workspace' }
const show = { ...READ, ...ONE, summary: 'Show a state version', query: withoutResources }

export const stateVersionRoutes: Routes = (http) => {
  http.post('/workspaces/:workspaceId/state-versions', create, async (req) => {
    const version = await createStateVersion(req.ctx, req.subject, { ...req.body.data, contents: req.contents })
    const resource = await presentStateVersion(req.ctx, { ...version, ...displayContextOf(req.subject) })
    return { ...created(resource), headers: SNAPSHOT_INTERVAL }
  })

  http.patch('/workspaces/:workspaceId/state-versions', rollBack, async (req) => {
    const version = await rollbackStateVersion(req.ctx, req.subject, req.body.data)
    const resource = await presentStateVersion(req.ctx, { ...version, ...displayContextOf(req.subject) })
    return { ...created(resource), headers: SNAPSHOT_INTERVAL }
  })

  http.get('/state-versions', list, async (req) => {
    const page = req.page()
    const { query } = req
    const filter = {
      organization: query['filter[organization][name]'],
      workspace: query['filter[workspace][name]'],
      status: query['filter[status]'],
    }
    const { rows, total, display } = await listStateVersions(req.ctx, filter, page)
    const options = { ...displayOptions(display), withoutResources: query['without-resources'] ?? false }
    const resources = await stateVersionResources(req.ctx, rows, () => options)
    return { ...req.list({ rows: resources, total }), headers: SNAPSHOT_INTERVAL }
  })

  http.get('/workspaces/:workspaceId/current-state-version', showCurrent, async (req) => {
    const version = await requireCurrentStateVersion(req.ctx, req.params.workspaceId)
    return { ...ok(await presentStateVersion(req.ctx, version)), headers: SNAPSHOT_INTERVAL }
  })

  http.get('/state-versions/:id', show, async (req) => {
    const version = await requireStateVersion(req.ctx, req.params.id)
    const extra = { withoutResources: req.query['without-resources'] ?? false }
    return { ...ok(await presentStateVersion(req.ctx, version, extra)), headers: SNAPSHOT_INTERVAL }
  })
}

const OCTETS = 'application/octet-stream'

const upload = {
  summary: 'Upload the content of a state version',
  access: 'signed',
  audit: 'state_version upload',
  responses: { 200: null },
  prefix: '',
  upload: true,
  maxBytes: MAX_STATE_BYTES,
} as const

const download = {
  summary: 'Download the content of a state version',
  responses: { 200: binary(OCTETS) },
  access: 'signed',
  prefix: '',
} as const

/** The routes of signed URLs, which need no token. */
export const stateContentRoutes: Routes = (http) => {
  http.put(`${OBJECT_PATH}/:objectId`, upload, async (req) => {
    const length = req.header('content-length')
    await uploadContent(req.ctx, req.params.objectId, {
      body: req.raw.body as Readable,
      declaredBytes: length === undefined ? undefined : Number(length),
    })
    return { status: 200 }
  })

  http.get(`${OBJECT_PATH}/:objectId`, download, async (req) => {
    const object = openObjectId(req.ctx, req.params.objectId)
    if (object?.kind !== 'raw' && object?.kind !== 'json') throw notFound('object')
    const version = await findDownload(req.ctx.db, { id: object.id, kind: object.kind })
    if (!version || version.status !== 'finalized') throw notFound('object')
    const content = await openContent(req.ctx, version, object.kind)
    if (content === undefined) throw notFound('object')
    // A state has secrets, and no cached copy may be readable after a soft delete.
    return unstored(bytes(content, OCTETS, object.kind === 'raw' ? (version.size ?? undefined) : undefined))
  })
}
