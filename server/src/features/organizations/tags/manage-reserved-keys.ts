import type { CreateReservedTagKey, UpdateReservedTagKey } from '@groundstate/contract/tags'
import type { Ctx } from '../../../app.ts'
import { type AuditEvent, audited } from '../../../audit/record.ts'
import { isUniqueViolation } from '../../../db/db.ts'
import { type Page, pageOffset } from '../../../db/page.ts'
import { forbidden, invalid, notFound } from '../../../errors.ts'
import { listReadableOrganizations, requireOrganization } from '../organizations/access.ts'
import * as store from './reserved-key-store.ts'

export async function listReservedTagKeys(ctx: Ctx, organizationName: string, page: Page) {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  return store.listReservedTagKeys(ctx.db, organization.id, { limit: page.size, offset: pageOffset(page) })
}

export async function createReservedTagKey(ctx: Ctx, organizationName: string, input: CreateReservedTagKey) {
  const organization = await requireOrganization(ctx, organizationName, 'tags:manage')
  const now = ctx.now()
  const row = {
    id: ctx.newId('rtk'),
    organization_id: organization.id,
    key: input.key,
    disable_overrides: input['disable-overrides'] ?? false,
    created_at: now,
    updated_at: now,
  }
  return uniqueKey(() => audited(ctx, keyAudit('create', row), (ctx) => store.insertReservedTagKey(ctx.db, row)))
}

export async function updateReservedTagKey(ctx: Ctx, id: string, input: UpdateReservedTagKey) {
  const key = await requireReservedTagKey(ctx, id)
  const changes = { key: input.key, disable_overrides: input['disable-overrides'], updated_at: ctx.now() }
  return uniqueKey(() =>
    audited(ctx, keyAudit('update', key, input), (ctx) => store.updateReservedTagKey(ctx.db, id, changes)),
  )
}

export async function deleteReservedTagKey(ctx: Ctx, id: string) {
  const key = await requireReservedTagKey(ctx, id)
  await audited(ctx, keyAudit('destroy', key), (ctx) => store.deleteReservedTagKey(ctx.db, id))
}

function keyAudit(
  action: string,
  row: { id: string; organization_id: string; key: string },
  changes?: object,
): AuditEvent {
  const { id, organization_id: organizationId, key } = row
  return { organizationId, action, resource: { type: 'reserved_tag_key', id }, meta: { key, changes }, notices: [] }
}

async function requireReservedTagKey(ctx: Ctx, id: string) {
  const key = await store.findReservedTagKey(ctx.db, id)
  if (!key) throw notFound('reserved tag key')
  const [organization] = await listReadableOrganizations(ctx, [key.organization_id])
  if (!organization) throw notFound('reserved tag key')
  if (!organization.can.has('tags:manage')) {
    throw forbidden(`this needs the permission tags:manage in the organization ${organization.name}`)
  }
  return key
}

async function uniqueKey<T>(work: () => Promise<T>) {
  try {
    return await work()
  } catch (error) {
    if (isUniqueViolation(error, 'reserved_tag_keys_key')) {
      throw invalid('Key has already been taken', '/data/attributes/key')
    }
    throw error
  }
}
