import type { MembershipResource } from '@groundstate/contract/memberships'
import type { Ctx } from '../../../app.ts'
import { listVisibleTeams } from '../teams/list-of-memberships.ts'
import type { ShownMembership } from './membership.ts'
import { membershipResource } from './resource.ts'

/** Presents memberships with those of their teams that the caller may see. The caller has authorised the memberships. */
export async function showMemberships(
  ctx: Ctx,
  memberships: readonly ShownMembership[],
): Promise<MembershipResource[]> {
  const access = new Map(memberships.map((membership) => [membership.organization_id, membership.access]))
  const teams = await listVisibleTeams(ctx, memberships, (id) => access.get(id))
  return memberships.map((membership) =>
    membershipResource(
      membership,
      (teams.get(membership.id) ?? []).map((id) => ({ id, type: 'teams' })),
    ),
  )
}

/** As `showMemberships`, for one. */
export async function showMembership(ctx: Ctx, membership: ShownMembership) {
  const [resource] = await showMemberships(ctx, [membership])
  if (!resource) throw new Error('every membership has a resource')
  return resource
}
