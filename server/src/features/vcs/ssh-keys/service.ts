import type { CreateSshKey, UpdateSshKey } from '@groundstate/contract/ssh-keys'
import type { Ctx } from '../../../app.ts'
import { type AuditEvent, audited } from '../../../audit/record.ts'
import type { OrganizationPermission } from '../../../auth/permissions.ts'
import { type Page, rejectTakenName } from '../../../db/db.ts'
import { sealedColumn } from '../../../secrets/sealed.ts'
import { requireOrganization, requirePart } from '../../organizations/organizations/access.ts'
import * as store from './store.ts'

export async function createSshKey(ctx: Ctx, organization: { id: string }, { attributes }: CreateSshKey) {
  const id = ctx.newId('sshkey')
  const row = {
    id,
    organization_id: organization.id,
    name: attributes.name,
    value: ctx.secrets.seal(attributes.value, sealContext(id)),
    created_at: ctx.now(),
  }
  return withUniqueName(attributes.name, () =>
    audited(ctx, sshKeyAudit(row, 'create'), (ctx) => store.insertSshKey(ctx.db, row)),
  )
}

/** Members see the names, to choose a key for a workspace; nobody sees a value again. */
export async function listSshKeys(ctx: Ctx, organizationName: string, page: Page) {
  const organization = await requireOrganization(ctx, organizationName, 'vcs-settings:read')
  return store.listSshKeys(ctx.db, organization.id, page)
}

export async function requireSshKey(ctx: Ctx, id: string, permission: OrganizationPermission) {
  const access = { noun: 'SSH key', read: 'vcs-settings:read', permission } as const
  return requirePart(ctx, await store.findSshKey(ctx.db, id), access)
}

export async function updateSshKey(ctx: Ctx, key: store.SshKeyRow, { attributes }: UpdateSshKey) {
  const { name, value } = attributes
  const changes = {
    ...(name !== undefined && { name }),
    ...(value !== undefined && { value: ctx.secrets.seal(value, sealContext(key.id)) }),
  }
  if (Object.keys(changes).length === 0) return key
  const event = { ...sshKeyAudit(key, 'update'), settings: { before: key, columns: changes } }
  return withUniqueName(name ?? key.name, () =>
    audited(ctx, event, (ctx) => store.updateSshKey(ctx.db, key.id, changes)),
  )
}

/** Workspaces that use the key lose it, as in the public API. */
export async function deleteSshKey(ctx: Ctx, id: string) {
  const key = await requireSshKey(ctx, id, 'vcs-settings:manage')
  await audited(ctx, sshKeyAudit(key, 'destroy'), (ctx) => store.deleteSshKey(ctx.db, id))
}

type SealedKey = { id: string | null; value: Buffer | null }

/** The private key, for a run; undefined without one. Throws `SealError` if it was sealed with another secret. */
export function openSshKey({ secrets }: Pick<Ctx, 'secrets'>, { id, value }: SealedKey) {
  return id === null || value === null ? undefined : secrets.openText(value, sealContext(id))
}

export const sealedSshKey = sealedColumn('ssh_keys.value', ['id'], ({ id }) => `ssh-keys/${id}/value`)

function sealContext(id: string) {
  return sealedSshKey.context({ id })
}

async function withUniqueName<T>(name: string, work: () => Promise<T>) {
  const detail = `Name has already been taken: there is an SSH key ${name}`
  return rejectTakenName({ constraint: 'ssh_keys_organization_id_name_key', detail }, work)
}

type AuditedKey = Pick<store.SshKeyRow, 'id' | 'organization_id' | 'name'>

function sshKeyAudit({ id, organization_id: organizationId, name }: AuditedKey, action: string): AuditEvent {
  return {
    organizationId,
    action,
    resource: { type: 'ssh_key', id },
    meta: { name },
    notices: [{ type: 'ssh-keys', id }],
  }
}
