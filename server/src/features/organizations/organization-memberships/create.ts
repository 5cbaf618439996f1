import type { CreateMembership } from '@groundstate/contract/memberships'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { checkHoldsAccess } from '../../../auth/team-permissions.ts'
import { announce } from '../../../changes/announce.ts'
import { isUniqueViolation, transact } from '../../../db/db.ts'
import { forbidden, invalid } from '../../../errors.ts'
import { requireOrganization } from '../organizations/access.ts'
import { listReadableTeams } from '../teams/access.ts'
import { teamNotice } from '../teams/audit.ts'
import { insertInvitedMembers, insertTeamMembers } from '../teams/members-store.ts'
import type { Team } from '../teams/team.ts'
import { requireMembership } from './access.ts'
import { membershipAudit } from './audit.ts'
import * as store from './store.ts'

/**
 * Invites by an e-mail address. Someone who has an account with it is a member at once; for all others the invitation
 * waits until there is one.
 */
export async function createMembership(ctx: Ctx, organizationName: string, input: CreateMembership) {
  const organization = await requireOrganization(ctx, organizationName, 'members:manage')
  const { email } = input.attributes
  const teams = await requireTeams(ctx, organization.id, input.relationships.teams?.data.map(({ id }) => id) ?? [])
  try {
    return await transact(ctx, async (ctx) => {
      const now = ctx.now()
      const id = ctx.newId('ou')
      const account = await store.findUserByEmail(ctx.db, email)
      await store.insertMembership(ctx.db, {
        id,
        organization_id: organization.id,
        email,
        ...(account ? { user_id: account.id } : { placeholder_id: ctx.newId('user') }),
        status: account ? 'active' : 'invited',
        created_at: now,
      })
      for (const team of teams) {
        if (account) await insertTeamMembers(ctx.db, { teamId: team.id, userIds: [account.id], now })
        else await insertInvitedMembers(ctx.db, { teamId: team.id, membershipIds: [id], now })
      }
      const meta = { email, teams: teams.map((team) => team.name) }
      await recordAudit(ctx, membershipAudit({ id, organization_id: organization.id }, 'create', meta))
      if (account) announce(ctx, ...teams.map((team) => ({ organization: organization.id, ...teamNotice(team) })))
      return requireMembership(ctx, id)
    })
  } catch (error) {
    if (
      isUniqueViolation(error, 'organization_memberships_user_key') ||
      isUniqueViolation(error, 'organization_memberships_invited_key')
    )
      throw invalid('Email has already been taken', '/data/attributes/email')
    throw error
  }
}

/** The teams that a body names, to put somebody into. */
async function requireTeams(ctx: Ctx, organizationId: string, ids: readonly string[]): Promise<Team[]> {
  const teams = await listReadableTeams(ctx, ids)
  for (const [index, id] of ids.entries()) {
    const team = teams.find((team) => team.id === id && team.organization_id === organizationId)
    if (!team) throw invalid(`there is no team ${id} in the organization`, `/data/relationships/teams/data/${index}/id`)
    if (!team.can.has('members:manage')) {
      throw forbidden(`this needs the permission members:manage on the team ${team.name}`)
    }
    checkHoldsAccess(team.access, team, team.name)
  }
  return teams
}
