import {
  type ConnectRegistryModule,
  type CreateModuleVersion,
  type CreateRegistryModule,
  type ModuleRepoInput,
  type UpdateRegistryModule,
  moduleName,
  moduleProvider,
} from '@groundstate/contract/registry-modules'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { audited, recordAudit } from '../../../audit/record.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { deleteBlobs } from '../../../blobs/sweep.ts'
import { type Page, rejectTakenName, transact } from '../../../db/db.ts'
import { forbidden, invalid, notFound } from '../../../errors.ts'
import { raise } from '../../../events.ts'
import { requireOrganization, requireOrganizationById } from '../../organizations/organizations/access.ts'
import { requireOAuthToken } from '../../vcs/oauth-clients/access.ts'
import { putRepository } from '../../vcs/repositories/service.ts'
import { checkUnused } from '../registry-usages/service.ts'
import { listModuleUses } from '../registry-usages/store.ts'
import {
  type ModuleAddress,
  type RegistryModule,
  moduleAudit,
  moduleConnected,
  moduleDisconnected,
  moduleVersionRequested,
  permittedModule,
  requireModule,
  requireModuleAt,
  requireModules,
  versionAudit,
} from './access.ts'
import type { StoredTag } from './resource.ts'
import * as store from './store.ts'

const TAKEN = { constraint: 'registry_modules_key', detail: 'Name has already been taken by a module of this provider' }
const REPO = '/data/attributes/vcs-repo'

export async function createModule(ctx: Ctx, organizationName: string, input: CreateRegistryModule) {
  const organization = await requireOrganization(ctx, organizationName, 'modules:manage')
  const isPublic = input['registry-name'] === 'public'
  const given = input.namespace || undefined
  if (isPublic && given === undefined)
    throw invalid('namespace is missing: a module of the public registry needs it', '/data/attributes/namespace')
  if (!isPublic && given !== undefined)
    throw invalid(
      `namespace is ${given}; leave it out: that of a private module is the organization ${organization.name}`,
      '/data/attributes/namespace',
    )
  const row = {
    ...newModule(ctx, organization.id, { name: input.name, provider: input.provider }),
    registry_name: isPublic ? 'public' : 'private',
    namespace: given ?? null,
    no_code: input['no-code'] ?? false,
    status: isPublic ? 'setup_complete' : 'pending',
  } as const
  await rejectTakenName(TAKEN, async () =>
    audited(ctx, moduleAudit(row, 'create'), async (ctx) => store.insertModule(ctx.db, row)),
  )
  return requireModule(ctx, row.id, 'registry:read')
}

function newModule(ctx: Ctx, organizationId: string, { name, provider }: { name: string; provider: string }) {
  const now = ctx.now()
  return { id: ctx.newId('mod'), organization_id: organizationId, name, provider, created_at: now, updated_at: now }
}

/** Creates a module whose versions come from a repository. Older clients name the organization by the connection only. */
export async function connectModule(ctx: Ctx, organizationName: string | undefined, input: ConnectRegistryModule) {
  const repo = input['vcs-repo']
  const organization = await organizationOf(ctx, organizationName ?? repo['organization-name'] ?? undefined, repo)
  const named = /^terraform-([a-z0-9]+)-(.+?)(?:\.git)?$/i.exec(repo.identifier.split('/').at(-1) ?? '')
  // A repository may have a name that a module may not have.
  const name = input.name ?? moduleName.safeParse(named?.[2]).data
  const provider = input.provider ?? moduleProvider.safeParse(named?.[1]).data
  if (name === undefined || provider === undefined)
    throw invalid(
      `the repository ${repo.identifier} is not named terraform-<provider>-<name>: give the name and the provider`,
      name === undefined ? '/data/attributes/name' : '/data/attributes/provider',
    )
  const columns = publishing({ ...repo, branch: repo.branch ?? '' }, { vcs_tags: true, vcs_branch: null })
  const row = { ...newModule(ctx, organization.id, { name, provider }), ...columns }
  await rejectTakenName(TAKEN, async () =>
    transact(ctx, async (ctx) => {
      const repositoryId = await putModuleRepository(ctx, organization.id, repo)
      await store.insertModule(ctx.db, {
        ...row,
        registry_name: 'private',
        status: 'pending',
        no_code: input['no-code'] ?? false,
        repository_id: repositoryId,
        test_config: testConfig(input['test-config']),
      })
      await recordAudit(ctx, moduleAudit(row, 'create', { repository: repo.identifier }))
      await raise(ctx, moduleConnected, { moduleId: row.id, initialVersion: input['initial-version'] ?? null })
    }),
  )
  return requireModule(ctx, row.id, 'registry:read')
}

async function organizationOf(ctx: Ctx, name: string | undefined, repo: ModuleRepoInput) {
  if (name) return requireOrganization(ctx, name, 'modules:manage')
  const tokenId = repo['oauth-token-id']
  if (!tokenId) throw invalid('oauth-token-id is missing: it names the connection', `${REPO}/oauth-token-id`)
  const token = await requireOAuthToken(ctx, tokenId, 'vcs-settings:read')
  return requireOrganizationById(ctx, token.organization_id, 'modules:manage')
}

type Connection = Pick<ModuleRepoInput, 'identifier' | 'oauth-token-id' | 'github-app-installation-id'>

async function putModuleRepository(ctx: TransactionCtx, organizationId: string, repo: Connection) {
  const { identifier, 'oauth-token-id': tokenId, 'github-app-installation-id': installationId } = repo
  if (!identifier) throw invalid("identifier can't be blank", `${REPO}/identifier`)
  if (!tokenId && !installationId)
    throw invalid('oauth-token-id or github-app-installation-id is missing', `${REPO}/oauth-token-id`)
  const connection = tokenId ? { tokenId } : { installationId: installationId! }
  return putRepository(ctx, { organizationId, projectId: null, connection, identifier })
}

/**
 * The columns of how a module is published: by a branch, or by tags without one, also where a client adds `tags: false`. Throws `invalid` for
 * a branch together with tags, and if tags are to end without a branch.
 */
function publishing(repo: ModuleRepoInput, before: { vcs_tags: boolean; vcs_branch: string | null }) {
  const { branch: given, tags: wanted } = repo
  if (wanted && given)
    throw invalid(`branch is ${given}; it must be empty when tags publish the module`, `${REPO}/branch`)
  const isKept = given === undefined || given === null
  const branch = isKept ? before.vcs_branch : given || null
  const tags = isKept ? (wanted ?? before.vcs_tags) : branch === null
  if (!tags && branch === null) throw invalid('branch is missing: without tags, a branch publishes', `${REPO}/branch`)
  return {
    vcs_tags: tags,
    vcs_branch: tags ? null : branch,
    ...(repo['source-directory'] !== undefined && { vcs_source_directory: repo['source-directory'] || null }),
    ...(repo['tag-prefix'] !== undefined && { vcs_tag_prefix: repo['tag-prefix'] || null }),
  }
}

function testConfig(input: ConnectRegistryModule['test-config']) {
  if (!input) return null
  return JSON.stringify({
    'tests-enabled': false,
    'agent-execution-mode': input['agent-execution-mode'] ?? 'remote',
    'agent-pool-id': input['agent-pool-id'] || null,
  })
}

type ListOptions = { page: Page; filter: store.ModuleFilter & { organizationName?: string | undefined } }

export async function listModules(ctx: Ctx, organizationName: string, { page, filter }: ListOptions) {
  const organization = await requireOrganization(ctx, organizationName, 'registry:read')
  const { rows, total } = await store.listModules(ctx.db, organization.id, { filter, page })
  return { total, rows: rows.map((row) => permittedModule(ctx, row, organization.can)) }
}

export async function updateModule(
  ctx: Ctx,
  address: ModuleAddress,
  { attributes, relationships }: UpdateRegistryModule,
) {
  const module = await requireModuleAt(ctx, address, 'modules:manage')
  const repo = attributes['vcs-repo']
  const tags = relationships['tag-bindings']?.data
  if (repo && module.repository === null && !repo.identifier)
    throw invalid('the module has no repository: its versions are uploaded', REPO)
  const now = ctx.now()
  const changes = {
    ...(typeof attributes['no-code'] === 'boolean' && { no_code: attributes['no-code'] }),
    ...(attributes['test-config'] && { test_config: testConfig(attributes['test-config']) }),
    ...(repo && publishing(repo, module)),
    ...(tags && { tags: storedTags(ctx, tags) }),
  }
  await transact(ctx, async (ctx) => {
    await store.lockModule(ctx.db, module.id)
    const repositoryId = repo ? await changedRepository(ctx, module, repo) : undefined
    await store.updateModule(ctx.db, module.id, {
      ...changes,
      updated_at: now,
      ...(repositoryId !== undefined && { repository_id: repositoryId }),
    })
    await recordAudit(ctx, moduleAudit(module, 'update', { changes: Object.keys(changes) }))
    if (!repo) return
    if (repositoryId !== undefined && module.repository_id !== null && repositoryId !== module.repository_id)
      await raise(ctx, moduleDisconnected, { moduleId: module.id, repositoryId: module.repository_id })
    await raise(ctx, moduleConnected, { moduleId: module.id, initialVersion: null })
  })
  return requireModule(ctx, module.id, 'registry:read')
}

async function changedRepository(ctx: TransactionCtx, module: RegistryModule, repo: ModuleRepoInput) {
  const { identifier, 'oauth-token-id': tokenId, 'github-app-installation-id': installationId } = repo
  if (!identifier && !tokenId && !installationId) return undefined
  const isNamed = Boolean(tokenId) || Boolean(installationId)
  return putModuleRepository(ctx, module.organization_id, {
    identifier: identifier ?? module.repository?.identifier,
    'oauth-token-id': isNamed ? tokenId : module.repository?.token_id,
    'github-app-installation-id': isNamed ? installationId : module.repository?.installation_id,
  })
}

/** New tags of a module or provider, as JSON for its column. */
export function storedTags(ctx: Ctx, tags: readonly { attributes: { key: string; value: string } }[]) {
  const createdAt = ctx.now().toISOString()
  const rows: StoredTag[] = tags.map(({ attributes: { key, value } }) => ({
    id: ctx.newId('tb'),
    key,
    value,
    created_at: createdAt,
  }))
  return JSON.stringify(rows)
}

type Deletion = { force?: boolean | undefined; version?: string | undefined }

/** Deletes the modules of an address, or a version. Throws `conflict` if workspaces use it, unless `force`. */
export async function deleteModules(ctx: Ctx, address: ModuleAddress, { force = false, version }: Deletion) {
  const modules = await requireModules(ctx, address, 'modules:manage')
  const keys = await transact(ctx, async (ctx) => {
    const deleted: string[] = []
    for (const module of modules) {
      await store.lockModule(ctx.db, module.id)
      if (!force)
        checkUnused(await listModuleUses(ctx.db, ctx.actor, module.id), { what: `module ${module.name}`, version })
      deleted.push(
        ...(version === undefined ? await destroyModule(ctx, module) : await destroyVersion(ctx, module, version)),
      )
    }
    return deleted
  })
  await deleteBlobs(ctx.blobs, keys)
}

async function destroyModule(ctx: TransactionCtx, module: RegistryModule) {
  const keys = await store.listBlobKeys(ctx.db, module.id)
  await store.deleteModule(ctx.db, module.id)
  const versions = module.versions.map((version) => version.version)
  await recordAudit(ctx, moduleAudit(module, 'destroy', { versions: versions.slice(0, 100) }))
  if (module.repository_id !== null)
    await raise(ctx, moduleDisconnected, { moduleId: module.id, repositoryId: module.repository_id })
  return keys
}

async function destroyVersion(ctx: TransactionCtx, module: RegistryModule, version: string) {
  const row = await store.findVersion(ctx.db, module.id, version)
  if (!row) throw notFound(`version ${version} of the module`)
  await store.deleteVersion(ctx.db, row.id)
  await recordAudit(ctx, versionAudit(row, module, 'destroy'))
  return row.blob_key === null ? [] : [row.blob_key]
}

export async function readModuleUses(ctx: Ctx, id: string) {
  const module = await requireModule(ctx, id, 'registry:read')
  return listModuleUses(ctx.db, ctx.actor, module.id)
}

export async function createModuleVersion(ctx: Ctx, address: ModuleAddress, input: CreateModuleVersion) {
  const module = await requireModuleAt(ctx, address, 'modules:manage')
  if (module.registry_name === 'public')
    throw forbidden(`${module.name} is a module of the public registry: its versions are published there`)
  const commitSha = module.repository === null ? undefined : requestedCommit(module.repository, module, input)
  const now = ctx.now()
  const row = {
    id: ctx.newId('modver'),
    registry_module_id: module.id,
    version: input.version,
    status: 'pending',
    source: commitSha === undefined ? 'tfe-api' : 'vcs',
    commit_sha: commitSha ?? (input['commit-sha'] || null),
    created_by_user_id: actorUserId(ctx.actor),
    created_at: now,
    updated_at: now,
  } as const
  const taken = {
    constraint: 'registry_module_versions_registry_module_id_version_key',
    attribute: 'version',
    detail: `version ${input.version} exists already and never changes: choose another`,
  }
  const version = await rejectTakenName(taken, async () =>
    audited(ctx, versionAudit(row, module, 'create'), async (ctx) => {
      const inserted = await store.insertVersion(ctx.db, row)
      if (commitSha !== undefined)
        await raise(ctx, moduleVersionRequested, { moduleId: module.id, version: row.version, commitSha })
      return inserted
    }),
  )
  return { module, version }
}

/** The commit of the branch to publish. Throws `invalid` for a module that tags publish, and without the whole name of a commit. */
function requestedCommit(
  { identifier }: { identifier: string },
  { vcs_tags: hasTags, vcs_tag_prefix: prefix }: RegistryModule,
  { version, 'commit-sha': commitSha }: CreateModuleVersion,
) {
  if (hasTags)
    throw invalid(
      `tags of ${identifier} publish the module: push the tag ${prefix ?? ''}v${version}, or choose a branch in vcs-repo`,
    )
  if (commitSha && /^[0-9a-f]{40}$/i.test(commitSha)) return commitSha.toLowerCase()
  throw invalid(
    `commit-sha ${commitSha ? `is ${commitSha}; it must have all 40 digits of` : 'is missing: it names'} the commit of ${identifier} to publish`,
    '/data/attributes/commit-sha',
  )
}

export async function readModuleVersion(ctx: Ctx, address: ModuleAddress, version: string) {
  const module = await requireModuleAt(ctx, address, 'registry:read')
  const row = await store.findVersion(ctx.db, module.id, version)
  if (!row) throw notFound(`version ${version} of the module`)
  return { module, version: row }
}
