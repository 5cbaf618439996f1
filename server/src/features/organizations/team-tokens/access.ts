import type { Ctx } from '../../../app.ts'
import { readAccessContext } from '../../../auth/access-context.ts'
import { checkDemands } from '../../../auth/demands.ts'
import { checkHoldsAccess, teamPermissions } from '../../../auth/team-permissions.ts'
import { forbidden, notFound } from '../../../errors.ts'
import * as store from './store.ts'

/**
 * A team whose tokens the actor may manage. Owners manage the tokens of all teams, managers of teams those of all teams but
 * the owners, and members those of their own team if its settings allow it. A member must be a person: a team's token that
 * could create others would survive its own revocation. Throws `not-found` for a team that the actor may not see, otherwise
 * the error of `refuse`.
 */
export async function requireTeamForTokens(ctx: Ctx, teamId: string, refuse = forbidTokens) {
  const team = await store.findTokenSubject(ctx.db, ctx.actor, teamId)
  if (!team) throw notFound('team')
  const access = readAccessContext(ctx.actor, { organizationId: team.organization_id, access: team.access })
  const can = teamPermissions(access, {
    isOwners: team.is_owners,
    visibility: team.visibility,
    allowsMemberTokens: team.allow_member_token_management,
    isMember: team.is_member,
    isPerson: ctx.actor.kind === 'user' && ctx.actor.teamId === undefined,
  })
  if (!can.has('team:read')) throw notFound('team')
  checkDemands(access)
  if (!can.has('tokens:manage')) throw refuse(team.name)
  return { ...team, access }
}

function forbidTokens(team: string) {
  return forbidden(`you may not manage the tokens of the team ${team}`)
}

/** A team's tokens do not exist for an actor that may not manage them. */
export function hideTokens() {
  return notFound('token')
}

/** As `requireTeamForTokens`, to create a token: it can do all that the team can, so the actor must hold that access too. */
export async function requireTeamForNewToken(ctx: Ctx, teamId: string) {
  const team = await requireTeamForTokens(ctx, teamId)
  checkHoldsAccess(team.access, team, team.name)
  return team
}
