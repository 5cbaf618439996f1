import type { Ctx, TransactionCtx } from '../../../app.ts'
import { readFacts } from '../../../auth/facts.ts'
import { checkDemands, type Facts, organizationPermissions } from '../../../auth/permissions.ts'
import { notFound } from '../../../errors.ts'
import { requireOrganization } from '../organizations/service.ts'
import { requireTeam } from '../teams/service.ts'
import * as store from './store.ts'
import { recordAudit } from '../../../audit/record.ts'
import type { Page, Paged } from '../../../db/page.ts'

/** A membership that the actor may see; `facts` are those of its organization. */
export type Membership = store.MembershipRow & { facts: Facts }

/** Throws `not-found` for a membership that the actor may not see: all but its own, without the permission for members. */
export async function requireMembership(ctx: Ctx, id: string): Promise<Membership> {
  const row = await store.findMembership(ctx.db, ctx.actor, id)
  const membership = row && readable(ctx, row)
  if (!membership) throw notFound('organization membership')
  checkDemands(membership.facts)
  return membership
}

type Found = NonNullable<Awaited<ReturnType<typeof store.findMembership>>>

function readable(ctx: Ctx, row: Found): Membership | undefined {
  const facts = readFacts(ctx.actor, { organizationId: row.organization_id, facts: row.facts })
  const isOwn = ctx.actor.kind === 'user' && ctx.actor.userId === row.user_id
  return isOwn || organizationPermissions(facts).has('members:read') ? { ...row, facts } : undefined
}

/** Those of the memberships that the actor may see, for includes. */
export async function listReadableMemberships(ctx: Ctx, ids: readonly string[]) {
  if (ids.length === 0) return []
  const rows = await store.findMemberships(ctx.db, ctx.actor, ids)
  return rows.flatMap((row) => readable(ctx, row) ?? [])
}

export type ListMemberships = Pick<store.MembershipFilter, 'status' | 'emails' | 'q'> & { page: Page }

export async function listMemberships(ctx: Ctx, name: string, { page, ...filter }: ListMemberships) {
  const organization = await requireOrganization(ctx, name, 'members:read')
  const list = await store.listMemberships(ctx.db, { ...filter, organizationId: organization.id }, { page })
  return { ...list, rows: list.rows.map((row): Membership => ({ ...row, facts: organization.facts })) }
}

/** The memberships of the caller, in all organizations. */
export async function listOwnMemberships(ctx: Ctx, page: Page): Promise<Paged<Membership>> {
  const { actor } = ctx
  if (actor.kind !== 'user') return { rows: [], total: 0 }
  const { rows, total } = await store.listMembershipsOfUser(ctx.db, actor, actor.userId, page)
  return { rows: rows.flatMap((row) => readable(ctx, row) ?? []), total }
}

export type ListTeamMemberships = { page: Page; status: string | undefined; byStatus: 'asc' | 'desc' | undefined }

/** The memberships of those in a team, and of those invited to it. */
export async function listTeamMemberships(ctx: Ctx, teamId: string, { page, status, byStatus }: ListTeamMemberships) {
  const team = await requireTeam(ctx, teamId, 'team:read')
  const can = organizationPermissions(team.facts)
  const filter = { organizationId: team.organization_id, status, emails: undefined, q: undefined, teamId }
  const list = await store.listMemberships(ctx.db, filter, { page, byStatus })
  const isOwn = (row: store.MembershipRow) => ctx.actor.kind === 'user' && ctx.actor.userId === row.user_id
  // That someone is in a team that one sees is no secret, but the address is.
  return {
    total: list.total,
    rows: list.rows.map((row): Membership & { hidesEmail: boolean } => ({
      ...row,
      facts: team.facts,
      hidesEmail: !can.has('members:read') && !isOwn(row),
    })),
  }
}

/** Makes an account an active member of the organization, unless it is one; an invitation of its address is spent. */
export async function insertMembership(
  ctx: TransactionCtx,
  { organizationId, userId, viaSso = false }: { organizationId: string; userId: string; viaSso?: boolean },
) {
  const now = ctx.now()
  await store.acceptInvitations(ctx.db, { userId, organizationId, now })
  await store.insertUserMembership(ctx.db, { id: ctx.newId('ou'), organizationId, userId, viaSso, now })
}

/**
 * Makes an account a member of the organizations that have invited its address. Called where an account comes to an
 * address that is known to be the person's: never for an address that somebody just typed.
 */
export async function acceptInvitations(ctx: TransactionCtx, userId: string) {
  const memberships = await store.acceptInvitations(ctx.db, { userId, organizationId: undefined, now: ctx.now() })
  for (const { id, organization_id: organizationId } of memberships) {
    await recordAudit(ctx, {
      organizationId,
      action: 'update',
      resource: { type: 'organization_user', id },
      meta: { status: 'active' },
    })
  }
}
