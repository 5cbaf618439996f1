import type { DataRetentionPolicyInput } from '@groundstate/contract/data-retention'
import type { Ctx } from '../../../app.ts'
import { type AuditEvent, audited } from '../../../audit/record.ts'
import { notFound } from '../../../errors.ts'
import { type PolicyOwner, requirePolicyOwner } from './access.ts'
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
