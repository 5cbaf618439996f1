import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import { type OrganizationPermission, refusal } from '../../../auth/permissions.ts'
import { notFound } from '../../../errors.ts'
import { domainEvent } from '../../../events.ts'
import { listReadableOrganizations } from '../../organizations/organizations/access.ts'
import { webhookUrl } from '../../vcs/repositories/webhook-url.ts'
import * as store from './store.ts'

export type PolicySet = store.PolicySetRow & {
  can: ReadonlySet<OrganizationPermission>
  /** The URL to which the host of its repository sends events; null without one. */
  webhook_url: string | null
}

export function permittedPolicySet(ctx: Ctx, row: store.PolicySetRow, can: PolicySet['can']): PolicySet {
  return { ...row, can, webhook_url: row.repository && webhookUrl(ctx, row.repository) }
}

/** Throws `not-found` for a set that the actor may not see, `forbidden` without the permission. */
export async function requirePolicySet(ctx: Ctx, id: string, permission: OrganizationPermission): Promise<PolicySet> {
  const [set] = await listReadablePolicySets(ctx, [id])
  if (!set) throw notFound('policy set')
  if (!set.can.has(permission)) throw refusal(permission, `in the organization ${set.organization_name}`)
  return set
}

export async function listReadablePolicySets(ctx: Ctx, ids: readonly string[]): Promise<PolicySet[]> {
  if (ids.length === 0) return []
  const rows = await store.findPolicySets(ctx.db, ctx.actor, ids)
  const organizationIds = [...new Set(rows.map((row) => row.organization_id))]
  const organizations = await listReadableOrganizations(ctx, organizationIds)
  const byId = new Map(organizations.map(({ id, can }) => [id, can]))
  return rows.flatMap((row) => {
    const can = byId.get(row.organization_id)
    return can?.has('policies:read') ? permittedPolicySet(ctx, row, can) : []
  })
}

export function policySetAudit(
  set: { id: string; name: string; organization_id: string },
  action: string,
  meta: object = {},
): AuditEvent {
  return {
    organizationId: set.organization_id,
    action,
    resource: { type: 'policy_set', id: set.id },
    meta: { name: set.name, ...meta },
    notices: [{ type: 'policy-sets', id: set.id }],
  }
}

/** A set was connected to a repository, or how it follows it changed. Raised in its transaction. */
export const policySetConnected = domainEvent<{ setId: string }>('policy-set.connected')

/** A set stopped using a repository. Raised in its transaction. */
export const policySetDisconnected = domainEvent<{ setId: string; repositoryId: string }>('policy-set.disconnected')
