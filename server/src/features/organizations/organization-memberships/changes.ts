import type { CreateMembership } from '@groundstate/contract/memberships'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { organizationPermissions } from '../../../auth/permissions.ts'
import { checkHoldsAccess } from '../../../auth/team-permissions.ts'
import { isUniqueViolation, transact } from '../../../db/db.ts'
import { forbidden, invalid } from '../../../errors.ts'
import { requireOrganization } from '../organizations/service.ts'
import { listReadableTeams, type Team } from '../teams/service.ts'
import { type Membership, requireMembership } from './service.ts'
import * as store from './store.ts'
import { recordAudit } from '../../../audit/record.ts'
import { checkOwnerRemains, leaveTeams, listTeamsOfMembership } from '../teams/members.ts'
import { insertInvitedMembers, insertTeamMembers } from '../teams/members-store.ts'

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
      const account = await store.findAccount(ctx.db, email)
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
      await recordAudit(ctx, {
        organizationId: organization.id,
        action: 'create',
        resource: { type: 'organization_user', id },
        meta: { email, teams: teams.map((team) => team.name) },
      })
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
    checkHoldsAccess(team.facts, team, team.name)
  }
  return teams
}

/**
 * Takes someone out of the organization and of all its teams; everyone may leave by themself. Throws `forbidden` for
 * owners who would take themselves out, for the last owner, and for whoever is in a team that the caller doesn't see.
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
    await recordAudit(ctx, {
      organizationId: membership.organization_id,
      action: 'destroy',
      resource: { type: 'organization_user', id },
      meta: { email: membership.email },
    })
  })
}

type MembersTeam = Awaited<ReturnType<typeof listTeamsOfMembership>>[number]

function checkRemoval(ctx: TransactionCtx, membership: Membership, teams: readonly MembersTeam[]) {
  const { facts } = membership
  const isOwner = teams.some((team) => team.isOwners)
  if (ctx.actor.kind === 'user' && ctx.actor.userId === membership.user_id) {
    if (isOwner) throw forbidden('you are an owner: leave the owners team before you leave the organization')
    return
  }
  if (!organizationPermissions(facts).has('members:manage')) {
    throw forbidden(`this needs the permission members:manage in the organization ${membership.organization_name}`)
  }
  if (isOwner && facts.standing !== 'owner' && facts.standing !== 'system')
    throw forbidden('only owners may remove an owner')
  if (teams.some((team) => !team.isVisible)) {
    throw forbidden('the member is in a team that you may not see: ask an owner')
  }
}
