import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import { type AccessContext, readAccessContext } from '../../../auth/access-context.ts'
import { organizationPermissions } from '../../../auth/organization-permissions.ts'
import { checkSignInPolicy } from '../../../auth/sign-in-policy.ts'
import { notFound } from '../../../errors.ts'
import * as store from './store.ts'

/** Throws `not-found` for a membership that the actor may not see. Its own is visible without `members:read`. */
export async function requireMembership(ctx: Ctx, id: string): Promise<Membership> {
  const row = await store.findMembership(ctx.db, ctx.actor, id)
  const membership = row && readableMembership(ctx, row)
  if (!membership) throw notFound('organization membership')
  checkSignInPolicy(membership.access)
  return membership
}

type AccessRow = NonNullable<Awaited<ReturnType<typeof store.findMembership>>>

export function readableMembership(ctx: Ctx, row: AccessRow): Membership | undefined {
  const access = readAccessContext(ctx.actor, { organizationId: row.organization_id, access: row.access })
  const isOwn = ctx.actor.kind === 'user' && ctx.actor.userId === row.user_id
  const sees = isOwn ? access.role !== 'stranger' : organizationPermissions(access).has('members:read')
  return sees ? { ...row, access } : undefined
}

export async function listReadableMemberships(ctx: Ctx, ids: readonly string[]) {
  if (ids.length === 0) return []
  const rows = await store.findMemberships(ctx.db, ctx.actor, ids)
  return rows.flatMap((row) => readableMembership(ctx, row) ?? [])
}

export type Membership = store.MembershipRow & { access: AccessContext }

export type ShownMembership = Membership & { hidesEmail?: boolean }

type AuditedMembership = { id: string; organization_id: string }

export function membershipAudit({ id, ...membership }: AuditedMembership, action: string, meta: object): AuditEvent {
  return {
    organizationId: membership.organization_id,
    action,
    resource: { type: 'organization_user', id },
    meta: { ...meta },
    notices: [{ type: 'organization-memberships', id }],
    changesAccess: true,
  }
}
