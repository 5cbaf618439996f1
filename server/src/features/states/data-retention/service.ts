import type { DataRetentionPolicyInput, DataRetentionPolicyResource } from '@groundstate/contract/data-retention'
import type { Ctx } from '../../../app.ts'
import { type AuditEvent, audited } from '../../../audit/record.ts'
import { notFound } from '../../../errors.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import { type PolicyRow, findPolicy } from './store.ts'
import * as store from './store.ts'

/** Sets how long backing data is kept. Owners and administrators of the workspace may do so. */
export async function setDataRetentionPolicy(ctx: Ctx, owner: PolicyOwner, input: DataRetentionPolicyInput) {
  const { key, target, organizationId } = await requirePolicyOwner(ctx, owner, 'write')
  const { row, created } = await audited(
    ctx,
    ({ row, created }: { row: store.PolicyRow; created: boolean }) =>
      dataRetentionPolicyAudit({ organizationId, target }, created ? 'create' : 'update', row),
    (ctx) =>
      store.upsertPolicy(ctx.db, key, {
        id: ctx.newId('drp'),
        deleteOlderThanDays: input.deleteOlderThanDays,
        now: ctx.now(),
      }),
  )
  return { policy: { ...row, target }, created }
}

export async function deleteDataRetentionPolicy(ctx: Ctx, owner: PolicyOwner) {
  const { key, target, organizationId } = await requirePolicyOwner(ctx, owner, 'write')
  await audited(
    ctx,
    (row: store.PolicyRow) => dataRetentionPolicyAudit({ organizationId, target }, 'destroy', row),
    async (ctx) => {
      const row = await store.deletePolicy(ctx.db, key)
      if (!row) throw notFound('data retention policy')
      return row
    },
  )
}

function dataRetentionPolicyAudit(
  { organizationId, target }: { organizationId: string; target: { id: string } },
  action: string,
  row: store.PolicyRow,
): AuditEvent {
  return {
    organizationId,
    action,
    resource: { type: 'data_retention_policy', id: row.id },
    meta: { workspace: row.workspace_id ?? undefined, delete_older_than_days: row.delete_older_than_days },
    notices: [
      row.workspace_id === null
        ? { type: 'organizations', id: target.id }
        : { type: 'workspaces', id: row.workspace_id, workspace: row.workspace_id },
    ],
  }
}

/** The policy that is set on the resource itself, not an inherited one. Throws `not-found` when there is none. */
export async function showDataRetentionPolicy(ctx: Ctx, owner: PolicyOwner): Promise<DataRetentionPolicy> {
  const { key, target } = await requirePolicyOwner(ctx, owner, 'read')
  const row = await findPolicy(ctx.db, key)
  if (!row) throw notFound('data retention policy')
  return { ...row, target }
}

/** Whose policy: an organization by its name, or a workspace by its id. */
type PolicyOwner = { organization: string } | { workspaceId: string }

/** The owner of a policy, which is a part of the self-managed edition, as is everything about backing data. */
async function requirePolicyOwner(ctx: Ctx, owner: PolicyOwner, access: 'read' | 'write') {
  if (ctx.config.edition === 'hosted') throw notFound('data retention policy')
  if ('organization' in owner) {
    const permission = access === 'read' ? 'organization:read' : 'owner'
    const organization = await requireOrganization(ctx, owner.organization, permission)
    return {
      key: { organizationId: organization.id },
      organizationId: organization.id,
      target: { id: organization.name, type: 'organizations' as const },
    }
  }
  const permission = access === 'read' ? 'workspace:read' : 'workspace:delete'
  const workspace = await requireWorkspace(ctx, owner.workspaceId, permission)
  return {
    key: { workspaceId: workspace.id },
    organizationId: workspace.organization_id,
    target: { id: workspace.id, type: 'workspaces' as const },
  }
}

/** A policy with the resource that it is attached to. */
export type DataRetentionPolicy = PolicyRow & { target: { id: string; type: 'organizations' | 'workspaces' } }

export function dataRetentionPolicyResource(policy: DataRetentionPolicy): DataRetentionPolicyResource {
  const { id, delete_older_than_days: days } = policy
  const relationships = { target: { data: policy.target } }
  if (days === null) return { id, type: 'data-retention-policy-dont-deletes', attributes: {}, relationships }
  const attributes = { 'delete-older-than-n-days': days }
  return { id, type: 'data-retention-policy-delete-olders', attributes, relationships }
}
