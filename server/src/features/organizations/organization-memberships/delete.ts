import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { organizationPermissions } from '../../../auth/organization-permissions.ts'
import { announce } from '../../../changes/announce.ts'
import { transact } from '../../../db/db.ts'
import { forbidden } from '../../../errors.ts'
import { teamNotice } from '../teams/audit.ts'
import { checkOwnerRemains } from '../teams/check-owners.ts'
import { leaveTeams } from '../teams/leave.ts'
import { listTeamsOfMembership } from '../teams/list-of-memberships.ts'
import { requireMembership } from './access.ts'
import { membershipAudit } from './audit.ts'
import type { Membership } from './membership.ts'
import * as store from './store.ts'

/**
 * Removes a person from the organization and from all its teams; everyone may leave by themself. Throws `forbidden` for
 * an owner who leaves, for the last owner, and for a member of a team that the caller may not see.
 */
export async function deleteMembership(ctx: Ctx, id: string) {
  const membership = await requireMembership(ctx, id)
  await transact(ctx, async (ctx) => {
    const teams = await listTeamsOfMembership(ctx, membership)
    checkRemoval(ctx, membership, teams)
    if (membership.user_id !== null) {
      await leaveTeams(
        ctx,
        membership.user_id,
        teams.map((team) => team.id),
      )
    }
    await store.deleteMembership(ctx.db, id)
    if (teams.some((team) => team.isOwners)) await checkOwnerRemains(ctx, membership.organization_id)
    await recordAudit(ctx, membershipAudit(membership, 'destroy', { email: membership.email }))
    announce(ctx, ...teams.map((team) => ({ organization: membership.organization_id, ...teamNotice(team) })))
  })
}

type MembersTeam = Awaited<ReturnType<typeof listTeamsOfMembership>>[number]

function checkRemoval(ctx: TransactionCtx, membership: Membership, teams: readonly MembersTeam[]) {
  const { access } = membership
  const isOwner = teams.some((team) => team.isOwners)
  if (ctx.actor.kind === 'user' && ctx.actor.userId === membership.user_id) {
    if (isOwner) throw forbidden('you are an owner: leave the owners team before you leave the organization')
    return
  }
  if (!organizationPermissions(access).has('members:manage')) {
    throw forbidden(`this needs the permission members:manage in the organization ${membership.organization_name}`)
  }
  if (isOwner && access.role !== 'owner' && access.role !== 'system') throw forbidden('only owners may remove an owner')
  if (teams.some((team) => !team.isVisible)) {
    throw forbidden('the member is in a team that you may not see: ask an owner')
  }
}
