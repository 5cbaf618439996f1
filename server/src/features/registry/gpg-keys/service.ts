import type { CreateGpgKey, UpdateGpgKey } from '@groundstate/contract/gpg-keys'
import type { Ctx } from '../../../app.ts'
import { type AuditEvent, audited, recordAudit } from '../../../audit/record.ts'
import type { OrganizationPermission } from '../../../auth/permissions.ts'
import { type Page, rejectTakenName, transact } from '../../../db/db.ts'
import { AppError, badRequest, conflict, invalid, notFound } from '../../../errors.ts'
import { listReadableOrganizations, requireOrganization } from '../../organizations/organizations/access.ts'
import { readPublicKey } from './public-key.ts'
import * as store from './store.ts'

export async function createGpgKey(ctx: Ctx, input: CreateGpgKey) {
  const organization = await requireOrganization(ctx, input.namespace, 'providers:manage')
  const key = await readPublicKey(input['ascii-armor'], ctx.now())
  const row = {
    id: ctx.newId('gpgkey'),
    organization_id: organization.id,
    key_id: key.keyId,
    fingerprint: key.fingerprint,
    ascii_armor: input['ascii-armor'],
    user_ids: key.userIds,
    expires_at: key.expiresAt,
    created_at: ctx.now(),
    updated_at: ctx.now(),
  }
  await unlessTaken(key.keyId, organization.name, 'ascii-armor', async () =>
    audited(ctx, gpgKeyAudit(row, 'create'), async (ctx) => store.insertGpgKey(ctx.db, row)),
  )
  return { ...row, namespace: organization.name }
}

/** Keys of those organizations whose registry the actor may see. */
export async function listGpgKeys(ctx: Ctx, namespaces: readonly string[] | undefined, page: Page) {
  if (!namespaces) throw badRequest('filter[namespace] is missing: name one or more organizations', 'filter[namespace]')
  const organizations = await listReadableOrganizations(ctx, namespaces, 'name')
  const readable = organizations.filter(({ can }) => can.has('registry:read'))
  if (readable.length === 0) throw notFound('organization', { parameter: 'filter[namespace]' })
  return store.listGpgKeys(
    ctx.db,
    readable.map(({ id }) => id),
    page,
  )
}

export async function requireGpgKey(
  ctx: Ctx,
  { namespace, keyId }: { namespace: string; keyId: string },
  permission: OrganizationPermission,
) {
  const organization = await requireOrganization(ctx, namespace, permission)
  const key = await store.findGpgKey(ctx.db, organization.id, keyId)
  if (!key) throw notFound('GPG key')
  return key
}

/** Moves a key to another organization. Throws `conflict` while versions of providers are signed with it. */
export async function updateGpgKey(ctx: Ctx, key: store.GpgKeyRow, { namespace }: UpdateGpgKey) {
  const target = await requireOrganization(ctx, namespace, 'providers:manage').catch((error: unknown) => {
    if (!(error instanceof AppError) || error.kind !== 'not-found') throw error
    // Clients match this text.
    const detail = 'namespace not authorized: it must be an organization whose providers you may manage'
    throw invalid(detail, '/data/attributes/namespace')
  })
  if (target.id === key.organization_id) return key
  await unlessTaken(key.key_id, target.name, 'namespace', async () =>
    transact(ctx, async (ctx) => {
      await checkUnused(ctx, key)
      const change = { organization_id: target.id, updated_at: ctx.now() }
      await store.moveGpgKey(ctx.db, key.id, change)
      const meta = { key_id: key.key_id, from: key.namespace, to: target.name }
      await recordAudit(ctx, { ...gpgKeyAudit(key, 'update'), meta })
      await recordAudit(ctx, { ...gpgKeyAudit({ ...key, ...change }, 'create'), meta })
    }),
  )
  return { ...key, organization_id: target.id, namespace: target.name, updated_at: ctx.now() }
}

/** Throws `conflict` while versions of providers are signed with the key: their downloads would fail. */
export async function deleteGpgKey(ctx: Ctx, key: store.GpgKeyRow) {
  await audited(ctx, gpgKeyAudit(key, 'destroy'), async (ctx) => {
    await checkUnused(ctx, key)
    await store.deleteGpgKey(ctx.db, key.id)
  })
}

async function checkUnused(ctx: Ctx, key: store.GpgKeyRow) {
  const versions = await store.listSignedVersions(ctx.db, key)
  if (versions.length === 0) return
  const named = versions.slice(0, 10).join(', ')
  throw conflict(
    `the key ${key.key_id} signs versions of providers: ${named}${versions.length > 10 ? ' and others' : ''}; delete them first`,
  )
}

async function unlessTaken<T>(keyId: string, namespace: string, attribute: string, work: () => Promise<T>) {
  const detail = `Key has already been taken: ${namespace} has the key ${keyId}`
  return rejectTakenName({ constraint: 'gpg_keys_key_id_key', attribute, detail }, work)
}

type AuditedKey = Pick<store.GpgKeyRow, 'id' | 'organization_id' | 'key_id'>

function gpgKeyAudit({ id, organization_id: organizationId, key_id: keyId }: AuditedKey, action: string): AuditEvent {
  return {
    organizationId,
    action,
    resource: { type: 'gpg_key', id },
    meta: { key_id: keyId },
    notices: [{ type: 'gpg-keys', id }],
  }
}
