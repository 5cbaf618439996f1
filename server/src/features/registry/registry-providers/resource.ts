import type {
  RegistryProviderPlatformResource,
  RegistryProviderResource,
  RegistryProviderVersionResource,
} from '@groundstate/contract/registry-providers'
import type { Ctx } from '../../../app.ts'
import type { CountedProvider, Platform, Provider, Version } from './access.ts'
import { downloadUrl, uploadUrl } from './urls.ts'

type Addressed = Pick<Provider, 'organization_name' | 'registry_name' | 'namespace' | 'name'>

function providerPath({ organization_name: organization, registry_name: registry, namespace, name }: Addressed) {
  return `/api/v2/organizations/${organization}/registry-providers/${registry}/${namespace}/${name}`
}

export function providerResource(row: CountedProvider): RegistryProviderResource {
  const self = providerPath(row)
  return {
    id: row.id,
    type: 'registry-providers',
    attributes: {
      name: row.name,
      namespace: row.namespace,
      'registry-name': row.registry_name,
      'workspace-count': row.workspaceCount,
      permissions: {
        'can-delete': row.canManage,
        'can-upload-asset': row.canManage && row.registry_name === 'private',
      },
      'created-at': row.created_at,
      'updated-at': row.updated_at,
    },
    relationships: {
      organization: { data: { id: row.organization_name, type: 'organizations' } },
      'registry-provider-versions': { links: { related: `${self}/versions` } },
    },
    links: { self },
  }
}

/** Whether `terraform init` may find the version: it is signed with a key of the organization, and has an archive. */
export function isAvailable(version: Omit<Version, 'canManage'>) {
  return version.has_shasums && version.has_signature && version.has_key && version.has_package
}

/** Upload links are only for callers who may upload, and only until the files are verified. */
export function versionResource(ctx: Ctx, row: Version): RegistryProviderVersionResource {
  const isSigned = row.has_shasums && row.has_signature
  const upload = (kind: 'shasums' | 'signature') =>
    row.canManage && !isSigned ? uploadUrl(ctx, kind, row.id) : undefined
  const [shasums, signature] = [upload('shasums'), upload('signature')]
  return {
    id: row.id,
    type: 'registry-provider-versions',
    attributes: {
      version: row.version,
      'key-id': row.key_id,
      protocols: row.protocols,
      'shasums-uploaded': row.has_shasums,
      'shasums-sig-uploaded': row.has_signature,
      'is-available': isAvailable(row),
      permissions: { 'can-delete': row.canManage, 'can-upload-asset': row.canManage },
      'created-at': row.created_at,
      'updated-at': row.updated_at,
    },
    relationships: {
      'registry-provider': { data: { id: row.registry_provider_id, type: 'registry-providers' } },
      platforms: { data: row.platform_ids.map((id) => ({ id, type: 'registry-provider-platforms' as const })) },
    },
    links: {
      self: versionPath(row),
      ...(shasums !== undefined && { 'shasums-upload': shasums }),
      ...(signature !== undefined && { 'shasums-sig-upload': signature }),
      ...(row.has_shasums && { 'shasums-download': downloadUrl(ctx, 'shasums', row.id) }),
      ...(row.has_signature && { 'shasums-sig-download': downloadUrl(ctx, 'signature', row.id) }),
    },
  }
}

function versionPath({ provider, version }: Version) {
  return `${providerPath(provider)}/versions/${version}`
}

export function platformResource(ctx: Ctx, row: Platform): RegistryProviderPlatformResource {
  const { version } = row
  const upload = version.canManage && row.blob_key === null ? uploadUrl(ctx, 'package', row.id) : undefined
  return {
    id: row.id,
    type: 'registry-provider-platforms',
    attributes: {
      os: row.os,
      arch: row.arch,
      filename: row.filename,
      shasum: row.shasum,
      'provider-binary-uploaded': row.blob_key !== null,
      size: row.size,
      permissions: { 'can-delete': version.canManage, 'can-upload-asset': version.canManage },
    },
    relationships: {
      'registry-provider-version': { data: { id: version.id, type: 'registry-provider-versions' } },
    },
    links: {
      self: `${versionPath(version)}/platforms/${row.os}/${row.arch}`,
      ...(upload !== undefined && { 'provider-binary-upload': upload }),
      ...(row.blob_key !== null && { 'provider-binary-download': downloadUrl(ctx, 'package', row.id) }),
    },
  }
}
