import type { Readable } from 'node:stream'
import { registryProviderIncludes } from '@groundstate/contract/includes'
import { registryUsagesResponse } from '@groundstate/contract/registry-modules'
import * as contract from '@groundstate/contract/registry-providers'
import { documentOf, pageOf, wholeListOf } from '@groundstate/contract/responses'
import { tagBindingSchema } from '@groundstate/contract/tags'
import type { Ctx } from '../../../app.ts'
import { sweepBlobs } from '../../../blobs/sweep.ts'
import { scheduledJob } from '../../../handlers.ts'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { boolean, oneOf, text } from '../../../http/query.ts'
import { type ApiResponse, binary, bytes, created, listAll, ok } from '../../../http/responses.ts'
import { listReadableOrganizations, requireOrganization } from '../../organizations/organizations/access.ts'
import { type StoredTag, storedTagResource } from '../registry-modules/resource.ts'
import { listUsages } from '../registry-usages/resource.ts'
import { requirePlatform, requireProvider, requireProviderById, requireVersion } from './access.ts'
import { platformResource, providerResource, versionResource } from './resource.ts'
import * as service from './service.ts'
import * as store from './store.ts'
import * as upload from './upload.ts'
import { PACKAGE_PATH, PACKAGE_PREFIX, SMALL_FILE_PATH } from './urls.ts'

const LIST = '/organizations/:organization/registry-providers'
const PROVIDER = `${LIST}/:registryName/:namespace/:name` as const
const VERSIONS = `${PROVIDER}/versions` as const
const VERSION = `${VERSIONS}/:version` as const
const PLATFORMS = `${VERSION}/platforms` as const
const PLATFORM = `${PLATFORMS}/:os/:arch` as const

const READ = { access: { organization: 'registry:read' } } as const
const MANAGE = { access: { organization: 'providers:manage' } } as const
const FORCE = { query: { force: boolean() }, responses: { 204: null } } as const

/** Empty lists of providers have no page in the public API; other lists have one. */
function countedPages(response: ApiResponse, { total }: { total: number }): ApiResponse {
  if (total > 0) return response
  const { meta, ...document } = response.document as { meta: { pagination: object } }
  return { ...response, document: { ...document, meta: { pagination: { ...meta.pagination, 'total-pages': 0 } } } }
}

export const registryProviderRoutes: Routes = (http) => {
  http.get(
    LIST,
    {
      ...READ,
      summary: 'List the providers of a registry',
      include: registryProviderIncludes,
      query: {
        q: text(),
        'filter[registry_name]': oneOf(contract.REGISTRY_NAMES),
        'filter[organization_name]': text(),
      },
      responses: { 200: pageOf(contract.registryProviderSchema) },
    },
    async (req) => {
      const { q, 'filter[registry_name]': registryName } = req.query
      const filter = { q, registryName, page: req.page() }
      const providers = await service.listProviders(req.ctx, req.params.organization, filter)
      return countedPages(req.list(providers, providerResource), providers)
    },
  )
  http.post(
    LIST,
    {
      ...MANAGE,
      summary: 'Create a provider',
      audit: 'registry_provider create',
      body: contract.createRegistryProviderBody,
      responses: { 201: documentOf(contract.registryProviderSchema) },
      authorise: async (ctx, { organization }) => requireOrganization(ctx, organization, 'providers:manage'),
    },
    async (req) =>
      created(providerResource(await service.createProvider(req.ctx, req.subject, req.body.data.attributes))),
  )
  const shown = {
    ...READ,
    include: registryProviderIncludes,
    responses: { 200: documentOf(contract.registryProviderSchema) },
  }
  http.get(PROVIDER, { ...shown, summary: 'Show a provider' }, async (req) => {
    const provider = await requireProvider(req.ctx, req.params, 'registry:read')
    return ok(providerResource(await service.countWorkspaces(req.ctx, provider)))
  })
  http.get('/registry-providers/:id', { ...shown, summary: 'Show a provider by its id' }, async (req) => {
    const provider = await requireProviderById(req.ctx, req.params.id)
    return ok(providerResource(await service.countWorkspaces(req.ctx, provider)))
  })
  http.get(
    '/registry-providers/:id/tag-bindings',
    { ...READ, summary: 'List the tags of a provider', responses: { 200: wholeListOf(tagBindingSchema) } },
    async ({ ctx, params }) => {
      const { tags } = await requireProviderById(ctx, params.id)
      return listAll((tags as StoredTag[]).map(storedTagResource))
    },
  )
  http.patch(
    PROVIDER,
    {
      ...MANAGE,
      summary: 'Update the tags of a provider',
      audit: 'registry_provider update',
      body: contract.updateRegistryProviderBody,
      responses: { 200: documentOf(contract.registryProviderSchema) },
      authorise: async (ctx, params) => requireProvider(ctx, params, 'providers:manage'),
    },
    async (req) => ok(providerResource(await service.updateProvider(req.ctx, req.subject, req.body.data))),
  )
  http.delete(
    PROVIDER,
    {
      ...MANAGE,
      ...FORCE,
      summary: 'Delete a provider',
      audit: 'registry_provider destroy',
      authorise: async (ctx, params) => requireProvider(ctx, params, 'providers:manage'),
    },
    async (req) => service.deleteProvider(req.ctx, req.subject, req.query.force === true),
  )
}

export const registryProviderVersionRoutes: Routes = (http) => {
  http.get(
    VERSIONS,
    {
      ...READ,
      summary: 'List the versions of a provider',
      responses: { 200: pageOf(contract.registryProviderVersionSchema) },
    },
    async (req) => {
      const provider = await requireProvider(req.ctx, req.params, 'registry:read')
      const versions = await service.listVersions(req.ctx, provider, req.page())
      return countedPages(
        req.list(versions, (row) => versionResource(req.ctx, row)),
        versions,
      )
    },
  )
  http.post(
    VERSIONS,
    {
      ...MANAGE,
      summary: 'Create a version of a provider',
      audit: 'registry_provider_version create',
      body: contract.createRegistryProviderVersionBody,
      responses: { 201: documentOf(contract.registryProviderVersionSchema) },
      authorise: async (ctx, params) => requireProvider(ctx, params, 'providers:manage'),
    },
    async (req) => {
      const version = await service.createVersion(req.ctx, req.subject, req.body.data.attributes)
      return created(versionResource(req.ctx, version))
    },
  )
  http.get(
    '/registry-providers/:id/workspaces',
    { ...READ, summary: 'List the workspaces that use a provider', responses: { 200: registryUsagesResponse } },
    async ({ ctx, params }) => {
      const provider = await requireProviderById(ctx, params.id)
      return listUsages(await service.readProviderUses(ctx, provider))
    },
  )
  http.get(
    VERSION,
    {
      ...READ,
      summary: 'Show a version of a provider',
      responses: { 200: documentOf(contract.registryProviderVersionSchema) },
    },
    async (req) => ok(versionResource(req.ctx, await requireVersion(req.ctx, req.params, 'registry:read'))),
  )
  http.delete(
    VERSION,
    {
      ...MANAGE,
      ...FORCE,
      summary: 'Delete a version of a provider',
      audit: 'registry_provider_version destroy',
      authorise: async (ctx, params) => requireVersion(ctx, params, 'providers:manage'),
    },
    async (req) => service.deleteVersion(req.ctx, req.subject, req.query.force === true),
  )
  http.get(
    PLATFORMS,
    {
      ...READ,
      summary: 'List the platforms of a version of a provider',
      responses: { 200: pageOf(contract.registryProviderPlatformSchema) },
    },
    async (req) => {
      const version = await requireVersion(req.ctx, req.params, 'registry:read')
      const platforms = await service.listPlatforms(req.ctx, version, req.page())
      return countedPages(
        req.list(platforms, (row) => platformResource(req.ctx, row)),
        platforms,
      )
    },
  )
  http.post(
    PLATFORMS,
    {
      ...MANAGE,
      summary: 'Create a platform of a version of a provider',
      audit: 'registry_provider_version update',
      body: contract.createRegistryProviderPlatformBody,
      responses: { 201: documentOf(contract.registryProviderPlatformSchema) },
      authorise: async (ctx, params) => requireVersion(ctx, params, 'providers:manage'),
    },
    async (req) => {
      const platform = await service.createPlatform(req.ctx, req.subject, req.body.data.attributes)
      return created(platformResource(req.ctx, platform))
    },
  )
  http.get(
    PLATFORM,
    {
      ...READ,
      summary: 'Show a platform of a version of a provider',
      responses: { 200: documentOf(contract.registryProviderPlatformSchema) },
    },
    async (req) => ok(platformResource(req.ctx, await requirePlatform(req.ctx, req.params, 'registry:read'))),
  )
  http.delete(
    PLATFORM,
    {
      ...MANAGE,
      summary: 'Delete a platform of a version of a provider',
      audit: 'registry_provider_version update',
      responses: { 204: null },
      authorise: async (ctx, params) => requirePlatform(ctx, params, 'providers:manage'),
    },
    async (req) => service.deletePlatform(req.ctx, req.subject),
  )
}

const SIGNED = { access: 'signed', prefix: '' } as const
const FILE = { responses: { 200: binary('application/octet-stream') } }
const UPLOADED = { audit: 'registry_provider_version upload', upload: true, responses: { 200: null } } as const

/** Files of versions, by signed URLs. */
export const providerFileRoutes: Routes = (http) => {
  http.put(
    `${SMALL_FILE_PATH}/:token`,
    { ...SIGNED, ...UPLOADED, summary: 'Upload SHA256SUMS or its signature', maxBytes: upload.MAX_SMALL_FILE_BYTES },
    async (req) => {
      await upload.uploadChecksums(req.ctx, req.params.token, req.raw.body as Readable)
      return { status: 200 }
    },
  )
  http.put(
    `${PACKAGE_PATH}/:token`,
    { ...SIGNED, ...UPLOADED, summary: 'Upload the archive of a platform', maxBytes: upload.MAX_PACKAGE_BYTES },
    async (req) => {
      await upload.uploadPackage(req.ctx, req.params.token, req.raw.body as Readable)
      return { status: 200 }
    },
  )
  http.get(
    `${SMALL_FILE_PATH}/:token`,
    { ...SIGNED, ...FILE, summary: 'Download SHA256SUMS or its signature' },
    async (req) => {
      const { content, size } = await upload.openFile(req.ctx, req.params.token, ['shasums', 'signature'])
      return bytes(content, 'application/octet-stream', size)
    },
  )
  http.get(
    `${PACKAGE_PATH}/:token`,
    { ...SIGNED, ...FILE, summary: 'Download the archive of a platform' },
    async (req) => {
      const { content, size } = await upload.openFile(req.ctx, req.params.token, ['package'])
      return bytes(content, 'application/octet-stream', size)
    },
  )
}

export const registryProviderJobs = [
  scheduledJob('registry-providers.sweep', '7 4 * * *', sweepPackages, { timeLimitMs: 3_600_000 }),
]

/** Deletes archives without a platform, from interrupted uploads and deleted organizations. */
export async function sweepPackages(ctx: Ctx, signal: AbortSignal) {
  const swept = await sweepBlobs(ctx, PACKAGE_PREFIX, async (keys) => store.findPackageKeys(ctx.db, keys), signal)
  if (swept > 0) ctx.log.info({ swept }, 'deleted archives of providers without a platform')
  return swept
}

export const registryProviderLoaders: readonly Loader[] = [
  {
    of: 'registry-providers',
    relation: 'registry-provider-versions',
    load: async (ctx, parents) => {
      const providers = await store.listProvidersById(
        ctx.db,
        parents.map(({ id }) => id),
      )
      const organizations = await listReadableOrganizations(ctx, [
        ...new Set(providers.map((row) => row.organization_id)),
      ])
      const can = new Map(organizations.map((organization) => [organization.id, organization.can]))
      const readable = providers.filter((row) => can.get(row.organization_id)?.has('registry:read'))
      const versions = await store.listVersionsOf(ctx.db, readable)
      return new Map(
        readable.map(({ id, organization_id: organizationId }) => {
          const canManage = can.get(organizationId)?.has('providers:manage') === true
          const own = versions.filter((version) => version.registry_provider_id === id)
          return [id, own.map((row) => versionResource(ctx, { ...row, canManage }))]
        }),
      )
    },
  },
]
