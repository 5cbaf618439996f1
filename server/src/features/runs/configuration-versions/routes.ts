import type { Readable } from 'node:stream'
import {
  configurationVersionSchema,
  createConfigurationVersionBody,
  ingressAttributesSchema,
} from '@groundstate/contract/configuration-versions'
import { configurationVersionIncludes } from '@groundstate/contract/includes'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import { type WorkspaceReadmeResource, workspaceReadmeSchema } from '@groundstate/contract/workspace-resources'
import { MAX_ARCHIVE_BYTES } from '../../../blobs/archive.ts'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { accepted, binary, bytes, created, noContent, ok } from '../../../http/responses.ts'
import { listReadableConfigurationVersions, requireConfigurationVersion } from './access.ts'
import { configurationVersionResource, ingressAttributesResource } from './resource.ts'
import * as service from './service.ts'
import { findIngressAttributes } from './store.ts'
import { uploadConfiguration } from './upload.ts'
import { clientSource, uploadUrl } from './urls.ts'

export const VERSION = documentOf(configurationVersionSchema)
export const ARCHIVE = binary('application/gzip')
const BACKING_DATA = { soft_delete: 'Delete', restore: 'Restore', permanently_delete: 'Permanently delete' } as const
const BACKING_DATA_ACTIONS = Object.keys(BACKING_DATA) as (keyof typeof BACKING_DATA)[]

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
      const versions = await service.listConfigurationVersions(req.ctx, req.params.workspaceId, req.page())
      return req.list(versions, (row) => configurationVersionResource(row))
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
      const version = await service.createConfigurationVersion(req.ctx, req.params.workspaceId, {
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
      responses: { 200: documentOf(ingressAttributesSchema) },
    },
    async (req) => ok(ingressAttributesResource(await service.requireIngressAttributes(req.ctx, req.params.id))),
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
      await service.archiveConfigurationVersion(req.ctx, req.params.id)
      return accepted()
    },
  )
  for (const action of BACKING_DATA_ACTIONS) {
    http.post(
      `/configuration-versions/:id/actions/${action}_backing_data`,
      {
        summary: `${BACKING_DATA[action]} the archive of a configuration version`,
        access: { organization: 'owner' },
        audit: `configuration_version ${action}_backing_data`,
        responses: { 200: VERSION },
      },
      async (req) => ok(configurationVersionResource(await service.changeBackingData(req.ctx, req.params.id, action))),
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

export const workspaceReadmeRoutes: Routes = (http) => {
  http.get(
    '/workspaces/:id/readme',
    {
      summary: 'Show the README of the current configuration of a workspace',
      access: { workspace: 'runs:read' },
      responses: { 200: documentOf(workspaceReadmeSchema), 204: null },
    },
    async (req) => {
      const readme = await service.readWorkspaceReadme(req.ctx, req.params.id)
      // Not an error: workspace pages request it without knowing whether there is one.
      return readme ? ok(workspaceReadmeResource(readme)) : noContent()
    },
  )
}

type Readme = NonNullable<Awaited<ReturnType<typeof service.readWorkspaceReadme>>>

function workspaceReadmeResource({ workspaceId, versionId, row }: Readme): WorkspaceReadmeResource {
  return {
    id: workspaceId,
    type: 'workspace-readmes',
    attributes: { path: row.path ?? '', 'raw-markdown': row.markdown ?? '', 'is-cut': row.is_cut },
    relationships: {
      workspace: { data: { id: workspaceId, type: 'workspaces' } },
      'configuration-version': { data: { id: versionId, type: 'configuration-versions' } },
    },
    links: { self: `/api/v2/workspaces/${workspaceId}/readme` },
  }
}

export function archiveResponse({ content, size }: { content: Readable; size: number | null }) {
  return bytes(content, 'application/gzip', size ?? undefined)
}

export const configurationVersionLoaders: readonly Loader[] = [
  {
    type: 'ingress-attributes',
    load: async (ctx, ids) => (await findIngressAttributes(ctx.db, ctx.actor, ids)).map(ingressAttributesResource),
  },
  {
    type: 'configuration-versions',
    load: async (ctx, ids) => {
      const versions = await listReadableConfigurationVersions(ctx, ids)
      return versions.map((version) => configurationVersionResource(version))
    },
  },
]
