import type { DataRetentionPolicyInput, DataRetentionPolicyResource } from '@groundstate/contract/data-retention'
import type { Ctx } from '../../../app.ts'
import { type AuditEvent, audited } from '../../../audit/record.ts'
import { notFound } from '../../../errors.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import * as store from './store.ts'

/** The owner of a policy: an organization by name, or a workspace by id. */
type PolicyOwner = { organization: string } | { workspaceId: string }

type DataRetentionPolicy = store.PolicyRow & { target: { id: string; type: 'organizations' | 'workspaces' } }

export async function setDataRetentionPolicy(ctx: Ctx, owner: PolicyOwner, input: DataRetentionPolicyInput) {
  const { key, target, organizationId } = await requirePolicyOwner(ctx, owner, 'write')
  const policy = { id: ctx.newId('drp'), deleteOlderThanDays: input.deleteOlderThanDays, now: ctx.now() }
  const { row, isNew } = await audited(
    ctx,
    (change: { before: store.PolicyRow | undefined; row: store.PolicyRow; isNew: boolean }) => ({
      ...policyAudit({ organizationId, target }, change.isNew ? 'create' : 'update', change.row),
      ...(change.before && { settings: { before: change.before, columns: change.row } }),
    }),
    async (ctx) => ({
      before: await store.findPolicy(ctx.db, key),
      ...(await store.upsertPolicy(ctx.db, key, policy)),
    }),
  )
  return { policy: { ...row, target }, isNew }
}

export async function deleteDataRetentionPolicy(ctx: Ctx, owner: PolicyOwner) {
  const { key, ...location } = await requirePolicyOwner(ctx, owner, 'write')
  const event = (row: store.PolicyRow) => policyAudit(location, 'destroy', row)
  await audited(ctx, event, async (ctx) => {
    const row = await store.deletePolicy(ctx.db, key)
    if (!row) throw notFound('data retention policy')
    return row
  })
}

function policyAudit(
  { organizationId, target }: { organizationId: string; target: { id: string } },
  action: string,
  { id, workspace_id: workspace, delete_older_than_days: days }: store.PolicyRow,
): AuditEvent {
  return {
    organizationId,
    action,
    resource: { type: 'data_retention_policy', id },
    meta: { workspace: workspace ?? undefined, delete_older_than_days: days },
    notices: [
      workspace === null ? { type: 'organizations', id: target.id } : { type: 'workspaces', id: workspace, workspace },
    ],
  }
}

/** The policy of the resource itself, not an inherited one. Throws `not-found` if there is none. */
export async function showDataRetentionPolicy(ctx: Ctx, owner: PolicyOwner): Promise<DataRetentionPolicy> {
  const { key, target } = await requirePolicyOwner(ctx, owner, 'read')
  const row = await store.findPolicy(ctx.db, key)
  if (!row) throw notFound('data retention policy')
  return { ...row, target }
}

/** Throws `not-found` in the hosted edition: policies and backing data belong to the self-managed edition. */
async function requirePolicyOwner(ctx: Ctx, owner: PolicyOwner, access: 'read' | 'write') {
  if (ctx.config.edition === 'hosted') throw notFound('data retention policy')
  if ('organization' in owner) {
    const permission = access === 'read' ? 'organization:read' : 'owner'
    const { id, name } = await requireOrganization(ctx, owner.organization, permission)
    const key = { column: 'organization_id' as const, id }
    return { key, organizationId: id, target: { id: name, type: 'organizations' as const } }
  }
  const permission = access === 'read' ? 'workspace:read' : 'workspace:delete'
  const { id, organization_id: organizationId } = await requireWorkspace(ctx, owner.workspaceId, permission)
  const key = { column: 'workspace_id' as const, id }
  return { key, organizationId, target: { id, type: 'workspaces' as const } }
}

export function dataRetentionPolicyResource(policy: DataRetentionPolicy): DataRetentionPolicyResource {
  const { id, delete_older_than_days: days } = policy
  const relationships = { target: { data: policy.target } }
  if (days === null) return { id, type: 'data-retention-policy-dont-deletes', attributes: {}, relationships }
  const attributes = { 'delete-older-than-n-days': days }
  return { id, type: 'data-retention-policy-delete-olders', attributes, relationships }
}
