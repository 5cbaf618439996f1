import { createStateVersionBody, rollbackStateVersionBody, softDeleteBody } from '@groundstate/contract/state-versions'
import type { Readable } from 'node:stream'
import type { Ctx } from '../../../app.ts'
import { type Answer, bytes, created, document, listPage, ok } from '../../../http/answers.ts'
import { invalidParameter } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import { readText } from '../../../http/query.ts'
import { parseBody, unparsed } from '../../../http/validation.ts'
import { stateDiffResource } from './diff-resource.ts'
import { INCLUDES } from './includes.ts'
import { OBJECT_PATH } from './objects.ts'
import { stateVersionDocuments } from './presentation.ts'
import { CONTENT_FIELDS, parseNewVersion } from './request.ts'
import { workspaceResourceResource } from './resource.ts'
import { listStateVersions, showCurrentStateVersion, showStateVersion, type StateVersion } from './service.ts'
import { createStateVersion, requireStateWorkspace } from './create.ts'
import { diffStateVersion } from './state-diff.ts'
import { downloadContent, MAX_CONTENT_BYTES, uploadContent } from './upload.ts'
import { listWorkspaceResources } from './workspace-resources.ts'
import { permanentlyDeleteBackingData, restoreBackingData, softDeleteBackingData } from './backing-data.ts'
import { rollbackStateVersion } from './rollback.ts'

/** The largest body with the content in it: it is read on the event loop, half a second for 64 MB. What is larger is uploaded. */
const MAX_INLINE_BYTES = 128 * 1024 * 1024

/**
 * Seconds between the snapshots that a command line stores while it applies. It reads them off any of these answers, if
 * their type is that of JSON:API.
 */
const SNAPSHOTS = { 'x-terraform-snapshot-interval': '30' }

export const stateVersionRoutes: Routes = (http) => {
  http.post(
    '/workspaces/:workspaceId/state-versions',
    {
      body: unparsed(createStateVersionBody),
      maxBytes: MAX_INLINE_BYTES,
      base64Fields: CONTENT_FIELDS,
      beforeLargeBody: async (ctx, { workspaceId = '' }) =>
        requireStateWorkspace(ctx, workspaceId, 'state-versions:write'),
    },
    async (req) => {
      const read = () => parseNewVersion(req.body)
      const { version, surroundings } = await createStateVersion(req.ctx, req.params.workspaceId, read)
      const { resources } = await stateVersionDocuments(req.ctx, [version], surroundings)
      return { ...created(first(resources)), headers: SNAPSHOTS }
    },
  )

  http.patch('/workspaces/:workspaceId/state-versions', { body: unparsed(rollbackStateVersionBody) }, async (req) => {
    const read = () => parseBody(rollbackStateVersionBody, req.body).data
    const { version, surroundings } = await rollbackStateVersion(req.ctx, req.params.workspaceId, read)
    const { resources } = await stateVersionDocuments(req.ctx, [version], surroundings)
    return { ...created(first(resources)), headers: SNAPSHOTS }
  })

  http.get('/state-versions', { include: INCLUDES }, async (req) => {
    const page = req.page()
    const filter = {
      organization: req.query['filter[organization][name]'],
      workspace: req.query['filter[workspace][name]'],
      status: req.query['filter[status]'],
    }
    const { rows, total, surroundings } = await listStateVersions(req.ctx, filter, page)
    const { resources, included } = await stateVersionDocuments(req.ctx, rows, surroundings, req.includes)
    return { ...listPage({ url: req.url, page }, { rows: resources, total }, included), headers: SNAPSHOTS }
  })

  http.get('/workspaces/:workspaceId/current-state-version', { include: INCLUDES }, async (req) => {
    return shown(req.ctx, await showCurrentStateVersion(req.ctx, req.params.workspaceId), req.includes)
  })

  http.get('/state-versions/:id', { include: INCLUDES }, async (req) => {
    return shown(req.ctx, await showStateVersion(req.ctx, req.params.id), req.includes)
  })

  http.get('/state-versions/:id/diff', async (req) => {
    const unknown = Object.keys(req.query).find((name) => name !== 'from')
    if (unknown !== undefined)
      throw invalidParameter(`${unknown} is no parameter of a diff: it takes from, the id of a state version`, unknown)
    const from = readText(req.query, 'from')
    if (from === undefined && 'from' in req.query)
      throw invalidParameter('from is empty, it must be the id of a state version', 'from')
    return ok(stateDiffResource(await diffStateVersion(req.ctx, req.params.id, from)))
  })

  http.post('/state-versions/:id/actions/soft_delete_backing_data', { body: unparsed(softDeleteBody) }, async (req) => {
    const readDays = () => parseBody(softDeleteBody, req.body)
    return shown(req.ctx, await softDeleteBackingData(req.ctx, req.params.id, readDays))
  })

  http.post('/state-versions/:id/actions/restore_backing_data', async (req) => {
    return shown(req.ctx, await restoreBackingData(req.ctx, req.params.id))
  })

  http.post('/state-versions/:id/actions/permanently_delete_backing_data', async (req) => {
    return shown(req.ctx, await permanentlyDeleteBackingData(req.ctx, req.params.id))
  })

  http.get('/workspaces/:workspaceId/resources', async (req) => {
    const page = req.page()
    const filter = { q: req.query['q'], sort: req.query['sort'] }
    const { rows, total } = await listWorkspaceResources(req.ctx, req.params.workspaceId, filter, page)
    return listPage({ url: req.url, page }, { rows: rows.map(workspaceResourceResource), total })
  })

  http.put(
    `${OBJECT_PATH}/:objectId`,
    { access: 'public', prefix: '', upload: true, maxBytes: MAX_CONTENT_BYTES },
    async (req) => {
      const length = req.header('content-length')
      await uploadContent(req.ctx, req.params.objectId, {
        body: req.raw.body as Readable,
        declaredBytes: length === undefined ? undefined : Number(length),
      })
      return { status: 200 }
    },
  )

  http.get(`${OBJECT_PATH}/:objectId`, { access: 'public', prefix: '' }, async (req) => {
    const { content, size } = await downloadContent(req.ctx, req.params.objectId)
    // A state holds secrets, and once its version is deleted softly no copy may go on being read.
    return { ...bytes(content, 'application/octet-stream', size), headers: { 'cache-control': 'no-store' } }
  })
}

function first<T>(resources: readonly T[]): T {
  const [resource] = resources
  if (resource === undefined) throw new Error('one version was presented as none')
  return resource
}

async function shown(
  ctx: Ctx,
  version: StateVersion & { echoedDays?: number | undefined },
  includes?: ReadonlySet<string>,
): Promise<Answer> {
  const { resources, included } = await stateVersionDocuments(ctx, [version], version, includes)
  return { status: 200, document: document(first(resources), included), headers: SNAPSHOTS }
}
