import type { CreateToken } from '@groundstate/contract/tokens'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { notFound } from '../../../errors.ts'
import { reissueToken } from '../../identity/tokens/service.ts'
import { tokenAudit } from '../../identity/tokens/store.ts'
import * as store from '../../identity/tokens/store.ts'
import { requireOrganization } from '../organizations/access.ts'

export async function showOrganizationToken(ctx: Ctx, name: string, kind: OrganizationTokenKind) {
  const organization = await requireOrganization(ctx, name, 'organization:read')
  if (!organization.can.has('tokens:manage')) throw notFound('token')
  const token = await store.findOrganizationToken(ctx.db, organization.id, kind)
  if (!token) throw notFound('token')
  return token
}

/** Makes the token of that kind, and revokes the one that was there. */
export async function createOrganizationToken(
  ctx: Ctx,
  name: string,
  { kind, ...input }: CreateToken & { kind: OrganizationTokenKind },
) {
  const organization = await requireOrganization(ctx, name, 'tokens:manage')
  return reissueToken(ctx, { kind, organization_id: organization.id }, input)
}

export async function deleteOrganizationToken(ctx: Ctx, name: string, kind: OrganizationTokenKind) {
  const organization = await requireOrganization(ctx, name, 'tokens:manage')
  await transact(ctx, async (ctx) => {
    const token = await store.deleteOrganizationToken(ctx.db, organization.id, kind)
    if (!token) throw notFound('token')
    await recordAudit(ctx, tokenAudit('destroy', token))
  })
}

/** An organization has one token to set itself up with, and one that reads its audit trail. */
export type OrganizationTokenKind = 'organization' | 'audit-trails'
