import type { Readable } from 'node:stream'
import {
  configurationVersionSchema,
  createConfigurationVersionBody,
} from '@groundstate/contract/configuration-versions'
import { configurationVersionIncludes } from '@groundstate/contract/includes'
import { documentOf, errorsDocument, pageOf } from '@groundstate/contract/responses'
import { notFound } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { accepted, binary, bytes, created, ok } from '../../../http/responses.ts'
import { listReadableConfigurationVersions, requireConfigurationVersion } from './access.ts'
import { configurationVersionResource } from './resource.ts'
import {
  archiveConfigurationVersion,
  changeBackingData,
  createConfigurationVersion,
  listConfigurationVersions,
} from './service.ts'
import { MAX_ARCHIVE_BYTES, uploadConfiguration } from './upload.ts'
import { clientSource, uploadUrl } from './urls.ts'

export const VERSION = documentOf(configurationVersionSchema)
export const ARCHIVE = binary('application/gzip')
const BACKING_DATA = {
  soft_delete: {
    summary: 'Delete the archive of a configuration version',
    audit: 'configuration_version soft_delete_backing_data',
  },
  restore: {
    summary: 'Restore the archive of a configuration version',
    audit: 'configuration_version restore_backing_data',
  },
  permanently_delete: {
    summary: 'Delete the archive of a configuration version for good',
    audit: 'configuration_version permanently_delete_backing_data',
  },
} as const

export const configurationVersionRoutes: Routes = (http) => {
  http.get(
    '/workspaces/:workspaceId/configuration-versions',
    {
      summary: 'List the configuration versions of a workspace',
      access: { workspace: 'runs:read' },
      include: configurationVersionIncludes,
      responses: { 200: pageOf(configurationVersionSchema) },
    },
    async (req) => {
      return req.list(await listConfigurationVersions(req.ctx, req.params.workspaceId, req.page()), (row) =>
        configurationVersionResource(row),
      )
    },
  )
  http.post(
    '/workspaces/:workspaceId/configuration-versions',
    {
      summary: 'Create a configuration version',
      access: { workspace: 'runs:plan' },
      audit: 'configuration_version create',
      body: createConfigurationVersionBody,
      responses: { 201: VERSION },
    },
    async (req) => {
      const version = await createConfigurationVersion(req.ctx, req.params.workspaceId, {
        input: req.body.data.attributes,
        source: clientSource((name) => req.header(name)),
      })
      return created(configurationVersionResource(version, uploadUrl(req.ctx, version)))
    },
  )
  http.get(
    '/configuration-versions/:id',
    {
      summary: 'Show a configuration version',
      access: { workspace: 'runs:read' },
      include: configurationVersionIncludes,
      responses: { 200: VERSION },
    },
    async (req) => {
      const version = await requireConfigurationVersion(req.ctx, req.params.id, 'runs:read')
      return ok(configurationVersionResource(version))
    },
  )
  http.get(
    '/configuration-versions/:id/ingress-attributes',
    {
      summary: 'Show the ingress attributes of a configuration version',
      access: { workspace: 'runs:read' },
      responses: { 404: errorsDocument },
    },
    async (req) => {
      await requireConfigurationVersion(req.ctx, req.params.id, 'runs:read')
      // Only configurations from version control have ingress attributes, and this server has no such connections.
      throw notFound('ingress attributes')
    },
  )

  http.post(
    '/configuration-versions/:id/actions/archive',
    {
      summary: 'Archive a configuration version',
      access: { workspace: 'runs:apply' },
      audit: 'configuration_version archive',
      responses: { 202: null },
    },
    async (req) => {
      await archiveConfigurationVersion(req.ctx, req.params.id)
      return accepted()
    },
  )
  for (const action of ['soft_delete', 'restore', 'permanently_delete'] as const) {
    http.post(
      `/configuration-versions/:id/actions/${action}_backing_data`,
      { ...BACKING_DATA[action], access: { organization: 'owner' }, responses: { 200: VERSION } },
      async (req) => {
        return ok(configurationVersionResource(await changeBackingData(req.ctx, req.params.id, action)))
      },
    )
  }

  http.put(
    '/_objects/configurations/:token',
    {
      summary: 'Upload a configuration',
      access: 'signed',
      audit: 'configuration_version upload',
      prefix: '',
      upload: true,
      maxBytes: MAX_ARCHIVE_BYTES,
      responses: { 200: null },
    },
    async (req) => {
      await uploadConfiguration(req.ctx, req.params.token, req.raw.body as Readable)
      return { status: 200 }
    },
  )
}

export function archiveResponse({ content, size }: { content: Readable; size: number | null }) {
  return bytes(content, 'application/gzip', size ?? undefined)
}

export const configurationVersionLoaders: readonly Loader[] = [
  {
    type: 'configuration-versions',
    load: async (ctx, ids) =>
      (await listReadableConfigurationVersions(ctx, ids)).map((version) => configurationVersionResource(version)),
  },
]
