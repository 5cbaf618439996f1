import type { Readable } from 'node:stream'
import {
  connectRegistryModuleBody,
  createModuleVersionBody,
  createRegistryModuleBody,
  registryModuleSchema,
  registryModuleVersionSchema,
  registryUsagesResponse,
  updateRegistryModuleBody,
} from '@groundstate/contract/registry-modules'
import { REGISTRY_NAMES } from '@groundstate/contract/registry-providers'
import { documentOf, pageOf, wholeListOf } from '@groundstate/contract/responses'
import { tagBindingSchema } from '@groundstate/contract/tags'
import { MAX_ARCHIVE_BYTES } from '../../../blobs/archive.ts'
import type { Routes } from '../../../http/http.ts'
import { boolean, oneOf, requiredText, text } from '../../../http/query.ts'
import { binary, bytes, created, listAll, ok } from '../../../http/responses.ts'
import { listUsages } from '../registry-usages/resource.ts'
import { openDownload, requireModule, requireModuleAt } from './access.ts'
import { uploadModuleVersion } from './publish.ts'
import { type StoredTag, storedTagResource, moduleVersionResource, registryModuleResource } from './resource.ts'
import * as service from './service.ts'

const OF_ORGANIZATION = '/organizations/:organization/registry-modules'
const BY_NAME = `${OF_ORGANIZATION}/:registry/:namespace/:name` as const
const ONE = `${BY_NAME}/:provider` as const
const MODULE = documentOf(registryModuleSchema)
const VERSION = documentOf(registryModuleVersionSchema)
const READ = { access: { organization: 'registry:read' } } as const
const MANAGE = { access: { organization: 'modules:manage' } } as const
const DELETE = { ...MANAGE, query: { force: boolean() }, responses: { 204: null } } as const
const DELETE_MODULE = { ...DELETE, audit: 'registry_module destroy' } as const
const DELETE_VERSION = { ...DELETE, audit: 'registry_module_version destroy' } as const

export const registryModuleRoutes: Routes = (http) => {
  http.get(
    OF_ORGANIZATION,
    {
      ...READ,
      summary: 'List the modules of the registry',
      include: { 'no-code-modules': null, no_code_modules: null },
      query: {
        q: text(),
        'filter[provider]': text(),
        'filter[registry_name]': oneOf(REGISTRY_NAMES),
        'filter[organization_name]': text(),
      },
      responses: { 200: pageOf(registryModuleSchema) },
    },
    async (req) => {
      const { q, 'filter[provider]': provider, 'filter[registry_name]': registryName } = req.query
      const filter = { q, provider, registryName }
      const modules = await service.listModules(req.ctx, req.params.organization, { filter, page: req.page() })
      return req.list(modules, registryModuleResource)
    },
  )
  http.post(
    OF_ORGANIZATION,
    {
      ...MANAGE,
      summary: 'Create a module',
      audit: 'registry_module create',
      body: createRegistryModuleBody,
      responses: { 201: MODULE },
    },
    async ({ ctx, params, body }) =>
      created(registryModuleResource(await service.createModule(ctx, params.organization, body.data.attributes))),
  )
  const connect = {
    ...MANAGE,
    summary: 'Create a module from a repository',
    audit: 'registry_module create',
    body: connectRegistryModuleBody,
    responses: { 201: MODULE },
  } as const
  http.post(`${OF_ORGANIZATION}/vcs`, connect, async ({ ctx, params, body }) =>
    created(registryModuleResource(await service.connectModule(ctx, params.organization, body.data.attributes))),
  )
  http.post('/registry-modules', connect, async ({ ctx, body }) =>
    created(registryModuleResource(await service.connectModule(ctx, undefined, body.data.attributes))),
  )
  const show = { ...READ, summary: 'Show a module', responses: { 200: MODULE } } as const
  http.get(ONE, show, async ({ ctx, params }) =>
    ok(registryModuleResource(await requireModuleAt(ctx, params, 'registry:read'))),
  )
  http.get('/registry-modules/:id', show, async ({ ctx, params }) =>
    ok(registryModuleResource(await requireModule(ctx, params.id, 'registry:read'))),
  )
  http.get('/registry-modules/show/:organization/:name/:provider', show, async ({ ctx, params }) =>
    ok(registryModuleResource(await requireModuleAt(ctx, params, 'registry:read'))),
  )
  http.patch(
    ONE,
    {
      ...MANAGE,
      summary: 'Update a module',
      audit: 'registry_module update',
      body: updateRegistryModuleBody,
      responses: { 200: MODULE },
    },
    async ({ ctx, params, body }) => ok(registryModuleResource(await service.updateModule(ctx, params, body.data))),
  )
  http.get(
    '/registry-modules/:id/tag-bindings',
    { ...READ, summary: 'List the tags of a module', responses: { 200: wholeListOf(tagBindingSchema) } },
    async ({ ctx, params }) => {
      const { tags } = await requireModule(ctx, params.id, 'registry:read')
      return listAll((tags as StoredTag[]).map(storedTagResource))
    },
  )
  http.get(
    '/registry-modules/:id/workspaces',
    {
      ...READ,
      summary: 'List the workspaces that use a module',
      responses: { 200: registryUsagesResponse },
    },
    async ({ ctx, params }) => listUsages(await service.readModuleUses(ctx, params.id)),
  )
  deletions(http)
  versions(http)
}

const deletions: Routes = (http) => {
  const LEGACY = '/registry-modules/actions/delete/:organization/:name'
  const all = { ...DELETE_MODULE, summary: 'Delete the modules of a name' } as const
  const one = { ...DELETE_MODULE, summary: 'Delete a module' } as const
  const version = { ...DELETE_VERSION, summary: 'Delete a version of a module' } as const
  http.delete(BY_NAME, all, async ({ ctx, params, query }) => service.deleteModules(ctx, params, query))
  http.post(LEGACY, all, async ({ ctx, params, query }) => service.deleteModules(ctx, params, query))
  http.delete(ONE, one, async ({ ctx, params, query }) => service.deleteModules(ctx, params, query))
  http.post(`${LEGACY}/:provider`, one, async ({ ctx, params, query }) => service.deleteModules(ctx, params, query))
  http.delete(`${ONE}/:version`, version, async ({ ctx, params: { version, ...address }, query }) =>
    service.deleteModules(ctx, address, { ...query, version }),
  )
  http.post(`${LEGACY}/:provider/:version`, version, async ({ ctx, params: { version, ...address }, query }) =>
    service.deleteModules(ctx, address, { ...query, version }),
  )
}

const versions: Routes = (http) => {
  const create = {
    ...MANAGE,
    summary: 'Create a version of a module',
    audit: 'registry_module_version create',
    body: createModuleVersionBody,
    responses: { 201: VERSION },
  } as const
  http.post('/registry-modules/:organization/:name/:provider/versions', create, async ({ ctx, params, body }) => {
    const { module, version } = await service.createModuleVersion(ctx, params, body.data.attributes)
    return created(moduleVersionResource(ctx, module, version))
  })
  http.post(`${OF_ORGANIZATION}/private/:namespace/:name/:provider/versions`, create, async ({ ctx, params, body }) => {
    const { module, version } = await service.createModuleVersion(ctx, params, body.data.attributes)
    return created(moduleVersionResource(ctx, module, version))
  })
  http.get(
    `${ONE}/version`,
    {
      ...READ,
      summary: 'Show a version of a module',
      query: { module_version: requiredText() },
      responses: { 200: VERSION },
    },
    async (req) => {
      const { module, version } = await service.readModuleVersion(req.ctx, req.params, req.query.module_version)
      return ok(moduleVersionResource(req.ctx, module, version))
    },
  )
  http.put(
    '/_objects/modules/object/:token',
    {
      summary: 'Upload a module',
      access: 'signed',
      audit: 'registry_module_version upload',
      prefix: '',
      upload: true,
      maxBytes: MAX_ARCHIVE_BYTES,
      responses: { 200: null },
    },
    async (req) => {
      await uploadModuleVersion(req.ctx, req.params.token, req.raw.body as Readable)
      return { status: 200 }
    },
  )
  http.get(
    '/_objects/modules/archive/:token',
    { summary: 'Download a module', access: 'signed', prefix: '', responses: { 200: binary('application/gzip') } },
    async ({ ctx, params }) => {
      const { content, size } = await openDownload(ctx, params.token)
      return bytes(content, 'application/gzip', size)
    },
  )
}
