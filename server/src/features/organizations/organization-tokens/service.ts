import type { CreateToken } from '@groundstate/contract/tokens'
import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import { deleteSingleToken, issueToken, requireSingleToken } from '../../identity/tokens/service.ts'
import { requireOrganization } from '../organizations/access.ts'

/** An organization has one token to configure it, and one to read its audit trail. */
type OrganizationTokenKind = 'organization' | 'audit-trails'

export async function showOrganizationToken(ctx: Ctx, name: string, kind: OrganizationTokenKind) {
  const organization = await requireOrganization(ctx, name, 'organization:read')
  if (!organization.can.has('tokens:manage')) throw notFound('token')
  return requireSingleToken(ctx, { kind, organization_id: organization.id })
}

type CreateOrganizationToken = CreateToken & { kind: OrganizationTokenKind }

/** Creates the token of that kind and revokes the previous one. */
export async function createOrganizationToken(ctx: Ctx, name: string, { kind, ...input }: CreateOrganizationToken) {
  const organization = await requireOrganization(ctx, name, 'tokens:manage')
  return issueToken(ctx, { kind, organization_id: organization.id }, input)
}

export async function deleteOrganizationToken(ctx: Ctx, name: string, kind: OrganizationTokenKind) {
  const organization = await requireOrganization(ctx, name, 'tokens:manage')
  await deleteSingleToken(ctx, { kind, organization_id: organization.id })
}
