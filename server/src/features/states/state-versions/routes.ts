import { createStateVersionBody, rollbackStateVersionBody, softDeleteBody } from '@groundstate/contract/state-versions'
import type { Readable } from 'node:stream'
import type { Ctx } from '../../../app.ts'
import { type Answer, bytes, created, listPage, ok } from '../../../http/answers.ts'
import { invalidParameter } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import { readText } from '../../../http/query.ts'
import { type Surroundings, createStateVersion, requireStateWorkspace } from './create.ts'
import { stateDiffResource } from '../state-version-diffs/resource.ts'
import { OBJECT_PATH } from './content-urls.ts'
import { shownIn, stateVersionResources } from './presentation.ts'
import { CONTENT_FIELDS } from './new-state.ts'
import { workspaceResourceResource } from './resource.ts'
import { listStateVersions, showCurrentStateVersion, showStateVersion } from './service.ts'
import type { PresentedRow } from './store.ts'
import { diffStateVersion } from '../state-version-diffs/compare.ts'
import { downloadContent, MAX_CONTENT_BYTES, uploadContent } from './upload.ts'
import { listWorkspaceResources } from '../workspace-resources/list.ts'
import {
  permanentlyDeleteBackingData,
  requireOwnedStateVersion,
  restoreBackingData,
  softDeleteBackingData,
} from './backing-data.ts'
import { requireRollbackWorkspace, rollbackStateVersion } from './roll-back.ts'

/** What the reads of state versions may include (INTERFACE §4.5.5). */
const INCLUDES = ['created_by', 'run', 'run.created_by', 'run.configuration_version', 'outputs'] as const

/** The largest body with the content in it: it is read on the event loop, half a second for 64 MB. What is larger is uploaded. */
const MAX_INLINE_BYTES = 128 * 1024 * 1024

/**
 * Seconds between the snapshots that a command line stores while it applies. It reads them off any of these answers, if
 * their type is that of JSON:API.
 */
const SNAPSHOTS = { 'x-terraform-snapshot-interval': '30' }

const OF_OWNERS = { authorise: async (ctx: Ctx, { id }: { id: string }) => requireOwnedStateVersion(ctx, id) }

export const stateVersionRoutes: Routes = (http) => {
  http.post(
    '/workspaces/:workspaceId/state-versions',
    {
      authorise: async (ctx, { workspaceId }) => requireStateWorkspace(ctx, workspaceId, 'state-versions:write'),
      body: createStateVersionBody,
      maxBytes: MAX_INLINE_BYTES,
      base64Fields: CONTENT_FIELDS,
    },
    async (req) => {
      const input = { ...req.body.data, contents: req.contents }
      const { version, surroundings } = await createStateVersion(req.ctx, req.subject, input)
      const resource = await presented(req.ctx, { ...version, ...surroundings })
      return { ...created(resource), headers: SNAPSHOTS }
    },
  )

  http.patch(
    '/workspaces/:workspaceId/state-versions',
    {
      authorise: async (ctx, { workspaceId }) => requireRollbackWorkspace(ctx, workspaceId),
      body: rollbackStateVersionBody,
    },
    async (req) => {
      const { version, surroundings } = await rollbackStateVersion(req.ctx, req.subject, req.body.data)
      const resource = await presented(req.ctx, { ...version, ...surroundings })
      return { ...created(resource), headers: SNAPSHOTS }
    },
  )

  http.get('/state-versions', { include: INCLUDES }, async (req) => {
    const page = req.page()
    const filter = {
      organization: req.query['filter[organization][name]'],
      workspace: req.query['filter[workspace][name]'],
      status: req.query['filter[status]'],
    }
    const { rows, total, surroundings } = await listStateVersions(req.ctx, filter, page)
    const resources = await stateVersionResources(req.ctx, rows, () => shownIn(surroundings))
    return { ...listPage({ url: req.url, page }, { rows: resources, total }), headers: SNAPSHOTS }
  })

  http.get('/workspaces/:workspaceId/current-state-version', { include: INCLUDES }, async (req) => {
    return shown(req.ctx, await showCurrentStateVersion(req.ctx, req.params.workspaceId))
  })

  http.get('/state-versions/:id', { include: INCLUDES }, async (req) => {
    return shown(req.ctx, await showStateVersion(req.ctx, req.params.id))
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

  http.post(
    '/state-versions/:id/actions/soft_delete_backing_data',
    { ...OF_OWNERS, body: softDeleteBody },
    async (req) => {
      return shown(req.ctx, await softDeleteBackingData(req.ctx, req.subject, req.body))
    },
  )

  http.post('/state-versions/:id/actions/restore_backing_data', OF_OWNERS, async (req) => {
    return shown(req.ctx, await restoreBackingData(req.ctx, req.subject))
  })

  http.post('/state-versions/:id/actions/permanently_delete_backing_data', OF_OWNERS, async (req) => {
    return shown(req.ctx, await permanentlyDeleteBackingData(req.ctx, req.subject))
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

type Presented = PresentedRow & Surroundings & { echoedDays?: number | undefined }

async function shown(ctx: Ctx, version: Presented): Promise<Answer> {
  return { ...ok(await presented(ctx, version)), headers: SNAPSHOTS }
}

async function presented(ctx: Ctx, version: Presented) {
  const show = { ...shownIn(version), deleteOlderThanDays: version.echoedDays }
  const [resource] = await stateVersionResources(ctx, [version], () => show)
  if (resource === undefined) throw new Error('one version was presented as none')
  return resource
}
