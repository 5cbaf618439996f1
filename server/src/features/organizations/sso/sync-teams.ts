import type { TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { announce, announceAccess } from '../../../changes/announce.ts'
import { insertMembership } from '../organization-memberships/insert.ts'
import { teamAudit } from '../teams/audit.ts'
import { isLastOwner } from '../teams/check-owners.ts'
import { leaveTeams } from '../teams/leave.ts'
import { insertTeamMembers } from '../teams/members-store.ts'
import * as store from './store.ts'

/**
 * Puts the user into the teams that the groups stand for, and takes the user out of those that sign-on had given and that
 * the groups no longer name. What people have granted stays; an organization keeps its last owner.
 */
export async function syncTeams(ctx: TransactionCtx, userId: string, groups: readonly string[]) {
  // Organizations of the hosted edition are strangers to each other: a team's name must not bring in members from outside.
  const everywhere = ctx.config.edition === 'self-managed'
  const wanted = await store.listTeamsOfGroups(ctx.db, { userId, groups, everywhere })
  const current = await store.listTeamsOfUser(ctx.db, userId)
  for (const team of wanted) {
    if (current.some(({ id }) => id === team.id)) continue
    await insertMembership(ctx, { organizationId: team.organization_id, userId, viaSso: true })
    await insertTeamMembers(ctx.db, { teamId: team.id, userIds: [userId], now: ctx.now(), viaSso: true })
    await record(ctx, 'add_member', team, userId)
  }
  for (const team of current) {
    if (!team.via_sso || wanted.some(({ id }) => id === team.id)) continue
    if (team.is_owners && (await isLastOwner(ctx, team.organization_id, userId))) {
      ctx.log.warn({ organization: team.organization_id, user: userId }, 'sign-on leaves the last owner in place')
      continue
    }
    await leaveTeams(ctx, userId, [team.id])
    await record(ctx, 'remove_member', team, userId)
  }
  for (const { id, organization_id: organization } of await store.deleteLeftMemberships(ctx.db, userId)) {
    announce(ctx, { organization, type: 'organization-memberships', id })
    announceAccess(ctx, organization)
  }
}

async function record(ctx: TransactionCtx, action: string, team: store.SsoTeam, userId: string) {
  await recordAudit(ctx, teamAudit(team, action, { members: [userId], via: 'sign-on' }))
}
