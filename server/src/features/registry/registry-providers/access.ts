import { REGISTRY_NAMES } from '@groundstate/contract/registry-providers'
import type { Ctx } from '../../../app.ts'
import type { OrganizationPermission } from '../../../auth/permissions.ts'
import { notFound } from '../../../errors.ts'
import {
  listReadableOrganizations,
  requireOrganization,
  requireOrganizationById,
} from '../../organizations/organizations/access.ts'
import * as store from './store.ts'

export type ProviderPath = { organization: string; registryName: string; namespace: string; name: string }
type Permitted = { canManage: boolean }
export type Provider = store.ProviderRow & Permitted
/** A provider, and how many workspaces use it. */
export type CountedProvider = Provider & { workspaceCount: number }
export type Version = store.VersionRow & Permitted
export type Platform = store.PlatformRow & { version: Version }

export async function requireProvider(
  ctx: Ctx,
  path: ProviderPath,
  permission: OrganizationPermission,
): Promise<Provider> {
  const organization = await requireOrganization(ctx, path.organization, permission)
  const registryName = REGISTRY_NAMES.find((name) => name === path.registryName)
  const { namespace, name } = path
  const row =
    registryName &&
    (await store.findProviderByAddress(ctx.db, { organizationId: organization.id, registryName, namespace, name }))
  if (!row) throw notFound('registry provider')
  return { ...row, canManage: organization.can.has('providers:manage') }
}

export async function requireProviderById(ctx: Ctx, id: string): Promise<Provider> {
  const row = await store.findProvider(ctx.db, id)
  const [organization] = row ? await listReadableOrganizations(ctx, [row.organization_id]) : []
  if (!row || !organization?.can.has('registry:read')) throw notFound('registry provider')
  return { ...row, canManage: organization.can.has('providers:manage') }
}

export type VersionPath = ProviderPath & { version: string }

export async function requireVersion(
  ctx: Ctx,
  path: VersionPath,
  permission: OrganizationPermission,
): Promise<Version> {
  const provider = await requireProvider(ctx, path, permission)
  const [row] = await store.listVersions(ctx.db, { of: provider, version: path.version })
  if (!row) throw notFound('registry provider version')
  return { ...row, canManage: provider.canManage }
}

export type PlatformPath = VersionPath & { os: string; arch: string }

export async function requirePlatform(ctx: Ctx, path: PlatformPath, permission: OrganizationPermission) {
  const version = await requireVersion(ctx, path, permission)
  const platforms = await store.listPlatforms(ctx.db, [version.id])
  const row = platforms.find(({ os, arch }) => os === path.os && arch === path.arch)
  if (!row) throw notFound('registry provider platform')
  return { ...row, version }
}

/** The version of an upload, for an actor who may still manage the providers of its organization. */
export async function requireUploadVersion(ctx: Ctx, id: string): Promise<Version> {
  const row = await store.findVersion(ctx.db, id)
  if (!row) throw notFound('upload')
  await requireOrganizationById(ctx, row.provider.organization_id, 'providers:manage')
  return { ...row, canManage: true }
}
