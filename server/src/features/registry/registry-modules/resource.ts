import type * as contract from '@groundstate/contract/registry-modules'
import type { TagBindingResource } from '@groundstate/contract/tags'
import type { Ctx } from '../../../app.ts'
import { repositoryAttributes } from '../../vcs/repositories/resource.ts'
import type { RegistryModule } from './access.ts'
import type { VersionRow, VersionSummary } from './store.ts'
import { uploadUrl } from './urls.ts'
import { latestFirst, latestVersion } from './versions.ts'

export function registryModuleResource(module: RegistryModule): contract.RegistryModuleResource {
  const canManage = module.can.has('modules:manage')
  return {
    id: module.id,
    type: 'registry-modules',
    attributes: {
      name: module.name,
      namespace: module.namespace ?? module.organization_name,
      provider: module.provider,
      'registry-name': module.registry_name,
      status: module.status,
      'publishing-mechanism': module.repository === null ? 'non_vcs' : module.vcs_tags ? 'git_tag' : 'branch',
      'no-code': module.no_code,
      'version-statuses': latestFirst(module.versions).map(({ version, status, error }) => ({
        version,
        status,
        ...(error !== null && { error }),
      })),
      'latest-version': latestVersion(module.versions)?.version ?? null,
      'vcs-repo': moduleRepo(module),
      'workspace-count': module.workspace_count,
      'test-config': module.test_config as contract.RegistryModuleResource['attributes']['test-config'],
      permissions: { 'can-delete': canManage, 'can-resync': canManage, 'can-retry': canManage },
      'created-at': module.created_at,
      'updated-at': module.updated_at,
    },
    relationships: {
      organization: { data: { id: module.organization_name, type: 'organizations' } },
      'no-code-modules': {
        data: module.no_code ? [{ id: module.id.replace(/^mod-/, 'nocode-'), type: 'no-code-modules' }] : [],
      },
    },
    links: {
      self: `/api/v2/organizations/${module.organization_name}/registry-modules/${module.registry_name}/${module.namespace ?? module.organization_name}/${module.name}/${module.provider}`,
    },
  }
}

function moduleRepo({ repository, ...module }: RegistryModule) {
  if (!repository) return null
  return {
    ...repositoryAttributes(repository, module.can.has('modules:manage') ? module.webhook_url : null),
    branch: module.vcs_branch ?? '',
    'ingress-submodules': true,
    tags: module.vcs_tags,
    'source-directory': module.vcs_source_directory,
    'tag-prefix': module.vcs_tag_prefix,
  }
}

export function moduleVersionResource(
  ctx: Ctx,
  module: RegistryModule,
  version: VersionRow,
): contract.RegistryModuleVersionResource {
  const canUpload = version.status !== 'ok' && version.source === 'tfe-api' && module.can.has('modules:manage')
  const upload = canUpload ? uploadUrl(ctx, version.id) : undefined
  return {
    id: version.id,
    type: 'registry-module-versions',
    attributes: {
      version: version.version,
      status: version.status,
      error: version.error,
      source: version.source,
      'commit-sha': version.commit_sha,
      size: version.size,
      'created-at': version.created_at,
      'updated-at': version.updated_at,
    },
    relationships: { 'registry-module': { data: { id: module.id, type: 'registry-modules' } } },
    links: {
      self: `${registryModuleResource(module).links.self}/version?module_version=${encodeURIComponent(version.version)}`,
      ...(upload !== undefined && { upload }),
    },
  }
}

/** A tag of a module or provider. */
export type StoredTag = { id: string; key: string; value: string; created_at: string }

export function storedTagResource(tag: StoredTag): TagBindingResource {
  const { id, key, value, created_at: createdAt } = tag
  return { id, type: 'tag-bindings', attributes: { key, value, 'created-at': createdAt } }
}

/** The address of a private module, as engines write it after the host. */
export function moduleSource({ organization_name: organization, name, provider }: RegistryModule) {
  return `${organization}/${name}/${provider}`
}

/** A version of a module, as the registry protocol lists it. */
export function protocolModule(module: RegistryModule, { version, updated_at: publishedAt }: VersionSummary) {
  return {
    id: `${moduleSource(module)}/${version}`,
    owner: '',
    namespace: module.organization_name,
    name: module.name,
    version,
    provider: module.provider,
    provider_logo_url: '',
    description: '',
    source: module.repository?.page_url ?? '',
    tag: '',
    published_at: new Date(publishedAt),
    downloads: 0,
    verified: false,
  }
}
