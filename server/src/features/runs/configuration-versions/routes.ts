import type { Readable } from 'node:stream'
import { createConfigurationVersionBody } from '@groundstate/contract/configuration-versions'
import { notFound } from '../../../errors.ts'
import { accepted, bytes, created, listPage, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { configurationVersionResource } from './resource.ts'
import {
  archiveConfigurationVersion,
  changeBackingData,
  createConfigurationVersion,
  listConfigurationVersions,
  openArchive,
  openConfiguration,
  requireConfigurationOfRun,
  requireConfigurationVersion,
} from './service.ts'
import { MAX_ARCHIVE_BYTES, uploadConfiguration } from './upload.ts'

const INCLUDES = ['ingress_attributes', 'run'] as const

export const configurationVersionRoutes: Routes = (http) => {
  http.get('/workspaces/:workspaceId/configuration-versions', { include: INCLUDES }, async (req) => {
    const page = req.page()
    const { rows, total } = await listConfigurationVersions(req.ctx, req.params.workspaceId, page)
    const list = { rows: rows.map((row) => configurationVersionResource(req.ctx, row)), total }
    return listPage({ url: req.url, page }, list)
  })
  http.post(
    '/workspaces/:workspaceId/configuration-versions',
    { body: createConfigurationVersionBody },
    async (req) => {
      const version = await createConfigurationVersion(req.ctx, req.params.workspaceId, {
        input: req.body.data.attributes,
        fromTerraform: req.header('terraform-version') !== undefined,
      })
      return created(configurationVersionResource(req.ctx, version))
    },
  )
  http.get('/configuration-versions/:id', { include: INCLUDES }, async (req) => {
    const version = await requireConfigurationVersion(req.ctx, req.params.id, 'runs:read')
    return ok(configurationVersionResource(req.ctx, version))
  })
  http.get('/runs/:runId/configuration-version', { include: INCLUDES }, async (req) => {
    return ok(configurationVersionResource(req.ctx, await requireConfigurationOfRun(req.ctx, req.params.runId)))
  })

  http.get('/configuration-versions/:id/download', { forTask: true }, async (req) => {
    return archiveAnswer(await openConfiguration(req.ctx, req.params.id))
  })
  http.get('/runs/:runId/configuration-version/download', { forTask: true }, async (req) => {
    const version = await requireConfigurationOfRun(req.ctx, req.params.runId)
    return archiveAnswer(await openArchive(req.ctx, version))
  })
  http.get('/configuration-versions/:id/ingress-attributes', async (req) => {
    await requireConfigurationVersion(req.ctx, req.params.id, 'runs:read')
    // Only what comes from version control has some, and this server has no connections to any.
    throw notFound('ingress attributes')
  })

  http.post('/configuration-versions/:id/actions/archive', async (req) => {
    await archiveConfigurationVersion(req.ctx, req.params.id)
    return accepted()
  })
  for (const action of ['soft_delete', 'restore', 'permanently_delete'] as const) {
    http.post(`/configuration-versions/:id/actions/${action}_backing_data`, async (req) => {
      return ok(configurationVersionResource(req.ctx, await changeBackingData(req.ctx, req.params.id, action)))
    })
  }

  http.put(
    '/_objects/configurations/:token',
    { access: 'public', prefix: '', upload: true, maxBytes: MAX_ARCHIVE_BYTES },
    async (req) => {
      await uploadConfiguration(req.ctx, req.params.token, req.raw.body as Readable)
      return { status: 200 }
    },
  )
}

function archiveAnswer({ content, size }: { content: Readable; size: number | null }) {
  return bytes(content, 'application/gzip', size ?? undefined)
}
