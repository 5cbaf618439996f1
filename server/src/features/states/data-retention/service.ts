import type { DataRetentionPolicyInput } from '@groundstate/contract/data-retention'
import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import { requireOrganization } from '../../organizations/organizations/service.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import * as store from './store.ts'
import { audited } from '../../../audit/record.ts'
/** Whose policy: an organization by its name, or a workspace by its id. */
export type PolicyOwner = { organization: string } | { workspaceId: string }

/** A policy with the resource that it is attached to. */
export type DataRetentionPolicy = store.PolicyRow & { target: { id: string; type: 'organizations' | 'workspaces' } }

/** The policy set on the resource itself, not an inherited one. Throws `not-found` when there is none. */
export async function showDataRetentionPolicy(ctx: Ctx, owner: PolicyOwner): Promise<DataRetentionPolicy> {
  const { key, target } = await requireOwner(ctx, owner, 'read')
  const row = await store.findPolicy(ctx.db, key)
  if (!row) throw notFound('data retention policy')
  return { ...row, target }
}

/** Sets how long backing data is kept; owners and administrators of the workspace may. */
export async function setDataRetentionPolicy(ctx: Ctx, owner: PolicyOwner, input: DataRetentionPolicyInput) {
  const { key, target, organizationId } = await requireOwner(ctx, owner, 'write')
  const { row, created } = await audited(
    ctx,
    ({ row, created }: { row: store.PolicyRow; created: boolean }) =>
      policyAudit(organizationId, created ? 'create' : 'update', row),
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
  const { key, organizationId } = await requireOwner(ctx, owner, 'write')
  await audited(
    ctx,
    (row: store.PolicyRow) => policyAudit(organizationId, 'destroy', row),
    async (ctx) => {
      const row = await store.deletePolicy(ctx.db, key)
      if (!row) throw notFound('data retention policy')
      return row
    },
  )
}

function policyAudit(organizationId: string, action: string, row: store.PolicyRow) {
  return {
    organizationId,
    action,
    resource: { type: 'data_retention_policy', id: row.id },
    meta: { workspace: row.workspace_id ?? undefined, delete_older_than_days: row.delete_older_than_days },
  }
}

/** Like all that concerns backing data, a part of the self-managed edition. */
async function requireOwner(ctx: Ctx, owner: PolicyOwner, access: 'read' | 'write') {
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
