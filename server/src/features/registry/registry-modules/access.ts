import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import { type OrganizationPermission, refusal } from '../../../auth/permissions.ts'
import { BlobNotFoundError } from '../../../blobs/errors.ts'
import { forbidden, notFound } from '../../../errors.ts'
import { domainEvent } from '../../../events.ts'
import { asUploader } from '../../identity/tokens/uploader.ts'
import {
  listReadableOrganizations,
  requireOrganization,
  requireOrganizationById,
} from '../../organizations/organizations/access.ts'
import { webhookUrl } from '../../vcs/repositories/webhook-url.ts'
import * as store from './store.ts'
import { openUploadUrl, readDownloadUrl } from './urls.ts'

export type RegistryModule = store.ModuleRow & {
  can: ReadonlySet<OrganizationPermission>
  /** The URL to which the host of its repository sends events; null without one. */
  webhook_url: string | null
}

export function permittedModule(ctx: Ctx, row: store.ModuleRow, can: RegistryModule['can']): RegistryModule {
  return { ...row, can, webhook_url: row.repository && webhookUrl(ctx, row.repository) }
}

/** Throws `not-found` for a module that the actor may not see, `forbidden` without the permission. */
export async function requireModule(ctx: Ctx, id: string, permission: OrganizationPermission): Promise<RegistryModule> {
  const row = await store.findModule(ctx.db, id)
  const [organization] = row ? await listReadableOrganizations(ctx, [row.organization_id]) : []
  if (!row || !organization?.can.has('registry:read')) throw notFound('registry module')
  if (!organization.can.has(permission)) throw refusal(permission, `in the organization ${organization.name}`)
  return permittedModule(ctx, row, organization.can)
}

/** The address of a module in paths of the API. Older paths have no registry and namespace: they mean a private module, else a public one. */
export type ModuleAddress = {
  organization: string
  registry?: string
  namespace?: string
  name: string
  provider?: string
}

/** As `requireModule`, for all modules of an address without a provider. */
export async function requireModules(
  ctx: Ctx,
  address: ModuleAddress,
  permission: OrganizationPermission,
): Promise<[RegistryModule, ...RegistryModule[]]> {
  const organization = await requireOrganization(ctx, address.organization, 'registry:read')
  const { registry = 'private', namespace = organization.name, name, provider } = address
  const isPrivate = registry === 'private'
  const isOwn = namespace.toLowerCase() === organization.name.toLowerCase()
  if (registry !== 'public' && !(isPrivate && isOwn)) throw notFound('registry module')
  const part = { organizationId: organization.id, namespace: isPrivate ? null : namespace, name, provider }
  let rows = await store.listModulesOf(ctx.db, part)
  if (rows.length === 0 && address.registry === undefined)
    rows = await store.listModulesOf(ctx.db, { ...part, namespace: undefined })
  const [first, ...rest] = rows.map((row) => permittedModule(ctx, row, organization.can))
  if (!first) throw notFound('registry module')
  if (!organization.can.has(permission)) throw refusal(permission, `in the organization ${organization.name}`)
  return [first, ...rest]
}

export async function requireModuleAt(ctx: Ctx, address: ModuleAddress, permission: OrganizationPermission) {
  const [module] = await requireModules(ctx, address, permission)
  return module
}

/** A version, with the caller who got the URL as the actor. Throws `not-found` for an invalid URL, `forbidden` for an expired one. */
export async function requireUpload(ctx: Ctx, token: string) {
  const { id, by } = openUploadUrl(ctx, token)
  const version = await store.findVersionRow(ctx.db, id)
  if (!version) throw notFound('upload')
  const uploader = await asUploader(ctx, { by, organizationId: version.organization_id })
  await requireOrganizationById(uploader, version.organization_id, 'modules:manage')
  return { ctx: uploader, version }
}

/** The archive of a download URL. Throws `not-found` for an invalid one, also if the version is being deleted, `forbidden` for an expired one. */
export async function openDownload(ctx: Ctx, token: string) {
  const grant = readDownloadUrl(ctx, token)
  if ('problem' in grant && grant.problem === 'expired') throw forbidden('the download URL has expired: init again')
  const version = 'id' in grant ? await store.findVersionRow(ctx.db, grant.id) : undefined
  if (version?.status !== 'ok' || version.blob_key === null) throw notFound('module archive')
  const content = await ctx.blobs.open(version.blob_key).catch((error: unknown) => {
    if (error instanceof BlobNotFoundError) throw notFound('module archive')
    throw error
  })
  return { content, size: version.size ?? undefined }
}

type AuditedModule = { id: string; organization_id: string; name: string; provider: string }

export function moduleAudit(module: AuditedModule, action: string, meta: object = {}): AuditEvent {
  return {
    organizationId: module.organization_id,
    action,
    resource: { type: 'registry_module', id: module.id },
    meta: { name: module.name, provider: module.provider, ...meta },
    notices: [{ type: 'registry-modules', id: module.id }],
  }
}

export function versionAudit(
  version: Pick<store.VersionRow, 'id' | 'version'>,
  { organization_id: organizationId, ...module }: AuditedModule,
  action: string,
): AuditEvent {
  return {
    organizationId,
    action,
    resource: { type: 'registry_module_version', id: version.id },
    meta: { version: version.version, module: module.id, name: module.name, provider: module.provider },
    notices: [{ type: 'registry-modules', id: module.id }],
  }
}

/** A module was connected to a repository, or its publishing changed. Raised in its transaction. */
export const moduleConnected = domainEvent<{ moduleId: string; initialVersion: string | null }>('module.connected')

/** A module stopped using a repository. Raised in its transaction. */
export const moduleDisconnected = domainEvent<{ moduleId: string; repositoryId: string }>('module.disconnected')

/** A commit of a module's branch is to be published as a version, which exists. Raised in the transaction that creates the version. */
export const moduleVersionRequested = domainEvent<{ moduleId: string; version: string; commitSha: string }>(
  'module-version.requested',
)

/** A version was published. Raised in its transaction. */
export const moduleVersionPublished = domainEvent<{ versionId: string }>('module-version.published')
