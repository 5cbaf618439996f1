import type { Ctx } from '../../../app.ts'
import { organizationPermissions } from '../../../auth/organization-permissions.ts'
import type { Page, Paged } from '../../../db/page.ts'
import { requireOrganization } from '../organizations/access.ts'
import { requireTeam } from '../teams/access.ts'
import { readableMembership } from './access.ts'
import type { Membership } from './membership.ts'
import * as store from './store.ts'

export type ListMemberships = Pick<store.MembershipFilter, 'status' | 'emails' | 'q'> & { page: Page }

export async function listMemberships(ctx: Ctx, name: string, { page, ...filter }: ListMemberships) {
  const organization = await requireOrganization(ctx, name, 'members:read')
  const list = await store.listMemberships(ctx.db, { ...filter, organizationId: organization.id }, { page })
  return { ...list, rows: list.rows.map((row): Membership => ({ ...row, access: organization.access })) }
}

/** The memberships of the caller, in all organizations. */
export async function listOwnMemberships(ctx: Ctx, page: Page): Promise<Paged<Membership>> {
  const { actor } = ctx
  if (actor.kind !== 'user') return { rows: [], total: 0 }
  const { rows, total } = await store.listMembershipsOfUser(ctx.db, actor, actor.userId, page)
  return { rows: rows.flatMap((row) => readableMembership(ctx, row) ?? []), total }
}

export type ListTeamMemberships = { page: Page; status: string | undefined; byStatus: 'asc' | 'desc' | undefined }

/** The memberships of those in a team, and of those invited to it. */
export async function listTeamMemberships(ctx: Ctx, teamId: string, { page, status, byStatus }: ListTeamMemberships) {
  const team = await requireTeam(ctx, teamId, 'team:read')
  const can = organizationPermissions(team.access)
  const filter = { organizationId: team.organization_id, status, emails: undefined, q: undefined, teamId }
  const list = await store.listMemberships(ctx.db, filter, { page, byStatus })
  const isOwn = (row: store.MembershipRow) => ctx.actor.kind === 'user' && ctx.actor.userId === row.user_id
  // That someone is in a team that one sees is no secret, but the address is.
  return {
    total: list.total,
    rows: list.rows.map((row): Membership & { hidesEmail: boolean } => ({
      ...row,
      access: team.access,
      hidesEmail: !can.has('members:read') && !isOwn(row),
    })),
  }
}
