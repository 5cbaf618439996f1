import {
  type ProviderDownloadResponse,
  type ProviderVersionsResponse,
  providerDownloadResponse,
  providerVersionsResponse,
} from '@groundstate/contract/registry-providers'
import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import { json, unstored } from '../../../http/responses.ts'
import { findGpgKey } from '../gpg-keys/store.ts'
import { requireProvider } from './access.ts'
import { isAvailable } from './resource.ts'
import * as store from './store.ts'
import { downloadPath } from './urls.ts'

const READ = { access: { organization: 'registry:read' }, prefix: '/api/registry/v1/providers' } as const

type Address = { namespace: string; type: string }

async function requirePublished(ctx: Ctx, { namespace, type }: Address) {
  const path = { organization: namespace, registryName: 'private', namespace, name: type }
  const provider = await requireProvider(ctx, path, 'registry:read')
  const versions = (await store.listVersionsOf(ctx.db, [provider])).filter(isAvailable)
  return { provider, versions }
}

/** The provider registry protocol of the engines. Only complete versions and platforms are offered. */
export const providerProtocolRoutes: Routes = (http) => {
  http.get(
    '/:namespace/:type/versions',
    { ...READ, summary: 'List the versions of a provider for an engine', responses: { 200: providerVersionsResponse } },
    async ({ ctx, params }) => {
      const { versions } = await requirePublished(ctx, params)
      const platforms = await store.listPlatforms(
        ctx.db,
        versions.map(({ id }) => id),
      )
      return json({
        versions: versions.map(({ id, version, protocols }) => ({
          version,
          protocols,
          platforms: platforms
            .filter((platform) => platform.registry_provider_version_id === id && platform.blob_key !== null)
            .map(({ os, arch }) => ({ os, arch })),
        })),
      } satisfies ProviderVersionsResponse)
    },
  )
  http.get(
    '/:namespace/:type/:version/download/:os/:arch',
    { ...READ, summary: 'Find the archive of a provider for an engine', responses: { 200: providerDownloadResponse } },
    async ({ ctx, params }) => {
      const { provider, versions } = await requirePublished(ctx, params)
      const version = versions.find((row) => row.version === params.version)
      const platforms = version ? await store.listPlatforms(ctx.db, [version.id]) : []
      const platform = platforms.find(({ os, arch }) => os === params.os && arch === params.arch)
      const key = version && (await findGpgKey(ctx.db, provider.organization_id, version.key_id))
      if (!version || !key || !platform || platform.blob_key === null) throw notFound('provider package')
      // The URLs are signed, so the response is not stored.
      return unstored(
        json({
          protocols: version.protocols,
          os: platform.os,
          arch: platform.arch,
          filename: platform.filename,
          download_url: downloadPath(ctx, 'package', platform.id),
          shasum: platform.shasum.toLowerCase(),
          shasums_url: downloadPath(ctx, 'shasums', version.id),
          shasums_signature_url: downloadPath(ctx, 'signature', version.id),
          signing_keys: {
            gpg_public_keys: [
              { key_id: key.key_id, ascii_armor: key.ascii_armor, trust_signature: '', source: '', source_url: null },
            ],
          },
        } satisfies ProviderDownloadResponse),
      )
    },
  )
}
