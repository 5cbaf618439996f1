import { createStateVersionBody, rollbackStateVersionBody, softDeleteBody } from '@groundstate/contract/state-versions'
import type { Readable } from 'node:stream'
import { z } from 'zod'
import { type Answer, bytes, created, listPage, ok } from '../../http/answers.ts'
import type { Routes } from '../../http/http.ts'
import { parseBody } from '../../http/validation.ts'
import { OBJECT_PATH } from './objects.ts'
import { stateVersionResource } from './resource.ts'
import {
  createStateVersion,
  downloadContent,
  listStateVersions,
  MAX_CONTENT_BYTES,
  showCurrentStateVersion,
  showStateVersion,
  uploadContent,
} from './service.ts'

/** Seconds between the snapshots that a command line stores while it applies; it reads them off any of these answers. */
const SNAPSHOT_INTERVAL = '30'

function withSnapshots(answer: Answer): Answer {
  return { ...answer, headers: { 'x-terraform-snapshot-interval': SNAPSHOT_INTERVAL } }
}

export const stateVersionRoutes: Routes = (http) => {
  http.post(
    '/workspaces/:workspaceId/state-versions',
    { body: z.unknown(), maxBytes: MAX_CONTENT_BYTES },
    async (req) => {
      const version = await createStateVersion(req.ctx, req.params.workspaceId, () => {
        return parseBody(createStateVersionBody, req.body).data
      })
      return withSnapshots(created(stateVersionResource(req.ctx, version)))
    },
  )

  http.get('/state-versions', async (req) => {
    const page = req.page()
    const filter = {
      organization: req.query['filter[organization][name]'],
      workspace: req.query['filter[workspace][name]'],
      status: req.query['filter[status]'],
    }
    const { rows, total } = await listStateVersions(req.ctx, filter, page)
    const resources = rows.map((row) => stateVersionResource(req.ctx, row))
    return withSnapshots(listPage({ url: req.url, page }, { rows: resources, total }))
  })

  http.get('/workspaces/:workspaceId/current-state-version', async (req) => {
    const version = await showCurrentStateVersion(req.ctx, req.params.workspaceId)
    return withSnapshots(ok(stateVersionResource(req.ctx, version)))
  })

  http.get('/state-versions/:id', async (req) => {
    const version = await showStateVersion(req.ctx, req.params.id)
    return withSnapshots(ok(stateVersionResource(req.ctx, version)))
  })

  http.put(
    `${OBJECT_PATH}/:objectId`,
    { access: 'public', prefix: '', upload: true, maxBytes: MAX_CONTENT_BYTES },
    async (req) => {
      await uploadContent(req.ctx, req.params.objectId, req.raw.body as Readable)
      return { status: 200 }
    },
  )

  http.get(`${OBJECT_PATH}/:objectId`, { access: 'public', prefix: '' }, async (req) => {
    const { content, size } = await downloadContent(req.ctx, req.params.objectId)
    return bytes(content, 'application/octet-stream', size)
  })
}
