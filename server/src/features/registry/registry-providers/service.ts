import type {
  CreateRegistryProvider,
  CreateRegistryProviderPlatform,
  CreateRegistryProviderVersion,
  RegistryName,
  UpdateRegistryProvider,
} from '@groundstate/contract/registry-providers'
import type { Ctx } from '../../../app.ts'
import { type AuditEvent, audited } from '../../../audit/record.ts'
import { deleteBlobs } from '../../../blobs/sweep.ts'
import { type Page, rejectTakenName } from '../../../db/db.ts'
import { AppError, invalid, notFound } from '../../../errors.ts'
import { type Organization, requireOrganization } from '../../organizations/organizations/access.ts'
import { hostNames } from '../../runs/agent-jobs/agent-job.ts'
import { storedTags } from '../registry-modules/service.ts'
import { checkUnused } from '../registry-usages/service.ts'
import { countProviderUses, listProviderUses } from '../registry-usages/store.ts'
import type { CountedProvider, Platform, Provider, Version } from './access.ts'
import { checkListed, readChecksums } from './checksums.ts'
import * as store from './store.ts'

export async function createProvider(ctx: Ctx, organization: Organization, input: CreateRegistryProvider) {
  const registryName = checkRegistryName(input['registry-name'])
  const isPrivate = registryName === 'private'
  if (isPrivate && input.namespace.toLowerCase() !== organization.name.toLowerCase())
    throw invalid(
      `Namespace is invalid: that of a private provider is the name of its organization, ${organization.name}`,
      '/data/attributes/namespace',
    )
  const row = {
    id: ctx.newId('prov'),
    organization_id: organization.id,
    registry_name: registryName,
    namespace: isPrivate ? null : input.namespace,
    name: input.name,
    created_at: ctx.now(),
    updated_at: ctx.now(),
  }
  const provider: CountedProvider = {
    ...row,
    namespace: row.namespace ?? organization.name,
    organization_name: organization.name,
    tags: [],
    canManage: true,
    workspaceCount: 0,
  }
  const detail = `Name has already been taken: there is a provider ${provider.namespace}/${provider.name}`
  await rejectTakenName({ constraint: 'registry_providers_name_key', detail }, async () =>
    audited(ctx, providerAudit(provider, 'create'), async (ctx) => store.insertProvider(ctx.db, row)),
  )
  return provider
}

/** Clients match these texts. */
function checkRegistryName(name: string | null | undefined): RegistryName {
  if (name === 'private' || name === 'public') return name
  const source = { pointer: '/data/attributes/registry-name' }
  const parts = [{ detail: 'Registry name is not included in the list', source }]
  if (!name) parts.unshift({ detail: "Registry name can't be blank", source })
  throw new AppError('invalid', parts)
}

type ListProviders = { q: string | undefined; registryName: RegistryName | undefined; page: Page }

export async function listProviders(ctx: Ctx, organizationName: string, filter: ListProviders) {
  const organization = await requireOrganization(ctx, organizationName, 'registry:read')
  const { rows, total } = await store.listProviders(ctx.db, { organizationId: organization.id, ...filter })
  const canManage = organization.can.has('providers:manage')
  return {
    rows: await withCounts(
      ctx,
      organization.id,
      rows.map((row) => ({ ...row, canManage })),
    ),
    total,
  }
}

export async function countWorkspaces(ctx: Ctx, provider: Provider): Promise<CountedProvider> {
  const [counted] = await withCounts(ctx, provider.organization_id, [provider])
  return counted ?? { ...provider, workspaceCount: 0 }
}

async function withCounts(
  ctx: Ctx,
  organizationId: string,
  providers: readonly Provider[],
): Promise<CountedProvider[]> {
  const ids = providers.map(({ id }) => id)
  const counts = await countProviderUses(ctx.db, { organizationId, ids, hosts: hostNames(ctx.baseUrl) })
  return providers.map((provider) => ({ ...provider, workspaceCount: counts.get(provider.id) ?? 0 }))
}

export async function readProviderUses(ctx: Ctx, provider: store.ProviderRow) {
  return listProviderUses(ctx.db, ctx.actor, { provider, hosts: hostNames(ctx.baseUrl) })
}

/** Replaces the tags of a provider, unless they are absent. */
export async function updateProvider(ctx: Ctx, provider: Provider, { relationships }: UpdateRegistryProvider) {
  const tags = relationships['tag-bindings']?.data
  const changes = { updated_at: ctx.now(), ...(tags && { tags: storedTags(ctx, tags) }) }
  await audited(ctx, providerAudit(provider, 'update'), async (ctx) =>
    store.updateProvider(ctx.db, provider.id, changes),
  )
  return countWorkspaces(ctx, { ...provider, updated_at: changes.updated_at })
}

/** Deletes a provider with its versions. Throws `conflict` if workspaces use it, unless `force`. */
export async function deleteProvider(ctx: Ctx, provider: Provider, force: boolean) {
  const keys = await audited(ctx, providerAudit(provider, 'destroy'), async (ctx) => {
    await store.lockProvider(ctx.db, provider.id)
    if (!force) checkUnused(await readProviderUses(ctx, provider), { what: addressOf(provider) })
    const versions = await store.listVersionsOf(ctx.db, [provider])
    const stored = await packageKeys(
      ctx,
      versions.map(({ id }) => id),
    )
    await store.deleteProvider(ctx.db, provider.id)
    return stored
  })
  await deleteBlobs(ctx.blobs, keys)
}

const VERSION = /^(?:0|[1-9]\d{0,8})\.(?:0|[1-9]\d{0,8})\.(?:0|[1-9]\d{0,8})(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/

export async function createVersion(ctx: Ctx, provider: Provider, input: CreateRegistryProviderVersion) {
  if (provider.registry_name === 'public')
    throw invalid(
      `${provider.namespace}/${provider.name} is a provider of a public registry, which has its versions; only private providers have versions here`,
    )
  if (!VERSION.test(input.version))
    throw invalid(
      `Version is invalid: ${JSON.stringify(input.version)} must have the form x.y.z, such as 1.2.0 or 1.2.0-beta.1`,
      '/data/attributes/version',
    )
  const protocols = input.protocols?.length ? [...new Set(input.protocols)] : ['5.0']
  const row = {
    id: ctx.newId('provver'),
    registry_provider_id: provider.id,
    version: input.version,
    protocols,
    key_id: input['key-id'],
    created_at: ctx.now(),
    updated_at: ctx.now(),
  }
  const detail = `Version has already been taken: ${provider.namespace}/${provider.name} has the version ${input.version}`
  const taken = { constraint: 'registry_provider_versions_version_key', attribute: 'version', detail }
  await rejectTakenName(taken, async () =>
    audited(ctx, versionAudit({ ...row, provider }, 'create'), async (ctx) => store.insertVersion(ctx.db, row)),
  )
  return requireStored(ctx, provider, input.version)
}

async function requireStored(ctx: Ctx, provider: Provider, version: string): Promise<Version> {
  const [row] = await store.listVersions(ctx.db, { of: provider, version })
  if (!row) throw notFound('registry provider version')
  return { ...row, canManage: provider.canManage }
}

export async function listVersions(ctx: Ctx, provider: Provider, page: Page) {
  const rows = await store.listVersions(ctx.db, { of: provider, page })
  const total = await store.countVersions(ctx.db, provider.id)
  return { rows: rows.map((row) => ({ ...row, canManage: provider.canManage })), total }
}

/** Deletes a version with its files. Throws `conflict` if workspaces use it, unless `force`. */
export async function deleteVersion(ctx: Ctx, version: Version, force: boolean) {
  const { provider } = version
  const keys = await audited(ctx, versionAudit(version, 'destroy'), async (ctx) => {
    await store.lockProvider(ctx.db, provider.id)
    if (!force)
      checkUnused(await readProviderUses(ctx, provider), { what: addressOf(provider), version: version.version })
    const stored = await packageKeys(ctx, [version.id])
    await store.deleteVersion(ctx.db, version.id)
    return stored
  })
  await deleteBlobs(ctx.blobs, keys)
}

function addressOf({ namespace, name }: store.ProviderRow) {
  return `provider ${namespace}/${name}`
}

async function packageKeys(ctx: Ctx, versionIds: readonly string[]) {
  const platforms = await store.listPlatforms(ctx.db, versionIds)
  return platforms.flatMap(({ blob_key: key }) => key ?? [])
}

const FILENAME = '/data/attributes/filename'
const SHASUM = '/data/attributes/shasum'

export async function createPlatform(ctx: Ctx, version: Version, input: CreateRegistryProviderPlatform) {
  const row = {
    id: ctx.newId('provpltfrm'),
    registry_provider_version_id: version.id,
    os: input.os,
    arch: input.arch,
    filename: input.filename,
    shasum: input.shasum,
    created_at: ctx.now(),
  }
  const name = `${input.os}_${input.arch}`
  const detail = `Platform has already been taken: the version ${version.version} has ${name}`
  const file = `Filename has already been taken: another platform of the version has ${input.filename}`
  const audit = versionAudit(version, 'update', { platform: name })
  const created = await rejectTakenName(
    { constraint: 'registry_provider_platforms_os_key', attribute: 'os', detail },
    async () =>
      rejectTakenName(
        { constraint: 'registry_provider_platforms_filename_key', attribute: 'filename', detail: file },
        async () =>
          audited(ctx, audit, async (ctx) => {
            const locked = await store.lockVersion(ctx.db, version.id)
            if (!locked) throw notFound('registry provider version')
            if (locked.shasums) checkListed(readChecksums(locked.shasums), row, { filename: FILENAME, shasum: SHASUM })
            return store.insertPlatform(ctx.db, row)
          }),
      ),
  )
  return { ...created, version }
}

export async function listPlatforms(ctx: Ctx, version: Version, page: Page) {
  const rows = await store.listPlatforms(ctx.db, [version.id])
  const start = (page.number - 1) * page.size
  return { rows: rows.slice(start, start + page.size).map((row) => ({ ...row, version })), total: rows.length }
}

export async function deletePlatform(ctx: Ctx, platform: Platform) {
  const audit = versionAudit(platform.version, 'update', { platform: `${platform.os}_${platform.arch}`, deleted: true })
  await audited(ctx, audit, async (ctx) => store.deletePlatform(ctx.db, platform.id))
  if (platform.blob_key !== null) await deleteBlobs(ctx.blobs, [platform.blob_key])
}

type AuditedProvider = Pick<store.ProviderRow, 'id' | 'organization_id' | 'namespace' | 'name'>

function providerAudit(provider: AuditedProvider, action: string): AuditEvent {
  const { id, organization_id: organizationId, namespace, name } = provider
  return {
    organizationId,
    action,
    resource: { type: 'registry_provider', id },
    meta: { namespace, name },
    notices: [{ type: 'registry-providers', id }],
  }
}

type AuditedVersion = { id: string; version: string; provider: AuditedProvider }

export function versionAudit({ id, version, provider }: AuditedVersion, action: string, meta: object = {}): AuditEvent {
  return {
    organizationId: provider.organization_id,
    action,
    resource: { type: 'registry_provider_version', id },
    meta: { provider: provider.name, version, ...meta },
    notices: [{ type: 'registry-providers', id: provider.id }],
  }
}
