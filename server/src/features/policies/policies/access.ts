import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import type { OrganizationPermission } from '../../../auth/permissions.ts'
import { invalid, notFound } from '../../../errors.ts'
import { listReadableOrganizations, requirePart } from '../../organizations/organizations/access.ts'
import * as store from './store.ts'

/** Throws `not-found` for a policy that the actor may not see, `forbidden` without the permission. */
export async function requirePolicy(ctx: Ctx, id: string, permission: OrganizationPermission) {
  const [row] = await store.findPolicies(ctx.db, [id])
  return requirePart(ctx, row, { noun: 'policy', read: 'policies:read', permission })
}

export async function listReadablePolicies(ctx: Ctx, ids: readonly string[]) {
  if (ids.length === 0) return []
  const rows = await store.findPolicies(ctx.db, ids)
  const organizations = await listReadableOrganizations(ctx, [...new Set(rows.map((row) => row.organization_id))])
  const readable = new Set(organizations.filter(({ can }) => can.has('policies:read')).map(({ id }) => id))
  return rows.filter((row) => readable.has(row.organization_id))
}

/** Throws `invalid` for a policy that the organization does not have. */
export async function requirePoliciesIn(
  ctx: Ctx,
  organizationId: string,
  { ids, pointer }: { ids: readonly string[]; pointer: string },
) {
  const rows = await store.findPolicies(ctx.db, ids)
  const found = new Set(rows.flatMap((row) => (row.organization_id === organizationId ? row.id : [])))
  const missing = ids.findIndex((id) => !found.has(id))
  if (missing >= 0) throw invalid(`there is no policy ${ids[missing]} in the organization`, `${pointer}/${missing}/id`)
}

export async function requireSource(ctx: Ctx, id: string) {
  const code = await store.findSource(ctx.db, id)
  if (code === undefined) throw notFound('the code of the policy')
  return code
}

export function policyAudit(
  policy: { id: string; name: string; organization_id: string },
  action: string,
  meta: object = {},
): AuditEvent {
  return {
    organizationId: policy.organization_id,
    action,
    resource: { type: 'policy', id: policy.id },
    meta: { name: policy.name, ...meta },
    notices: [{ type: 'policies', id: policy.id }],
  }
}
