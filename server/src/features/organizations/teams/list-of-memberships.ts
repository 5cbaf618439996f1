import type { Ctx, TransactionCtx } from '../../../app.ts'
import type { AccessContext } from '../../../auth/access-context.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { teamPermissions } from '../../../auth/team-permissions.ts'
import * as store from './members-store.ts'
import { teamAccess } from './team.ts'

/** The teams of each membership (by id) that the actor may see; `facts` are those of their organization, by its id. */
export async function listVisibleTeams(
  ctx: Ctx,
  memberships: readonly { id: string; organization_id: string }[],
  access: (organizationId: string) => AccessContext | undefined,
) {
  const organizations = new Map(memberships.map((membership) => [membership.id, membership.organization_id]))
  const rows = await store.listTeamsOfMemberships(ctx.db, [...organizations.keys()], actorUserId(ctx.actor))
  const teams = new Map<string, string[]>()
  for (const row of rows) {
    const known = access(organizations.get(row.membership_id) ?? '')
    if (!known || !teamPermissions(known, teamAccess(ctx.actor, row)).has('team:read')) continue
    teams.set(row.membership_id, [...(teams.get(row.membership_id) ?? []), row.id])
  }
  return teams
}

/** All teams of a membership, with what decides about its removal. */
export async function listTeamsOfMembership(ctx: TransactionCtx, membership: { id: string; access: AccessContext }) {
  const rows = await store.listTeamsOfMemberships(ctx.db, [membership.id], actorUserId(ctx.actor))
  return rows.map((row) => ({
    id: row.id,
    isOwners: row.is_owners,
    visibility: row.visibility,
    isVisible: teamPermissions(membership.access, teamAccess(ctx.actor, row)).has('team:read'),
  }))
}
