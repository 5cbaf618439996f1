import type { Ctx } from '../../../app.ts'
import { checkDemands } from '../../../auth/demands.ts'
import { readFacts } from '../../../auth/facts.ts'
import { checkHoldsAccess, teamPermissions } from '../../../auth/team-permissions.ts'
import { forbidden, notFound } from '../../../errors.ts'
import * as store from './store.ts'

/**
 * A team whose tokens the actor may manage: owners those of all teams, whoever manages teams those of all but the owners',
 * and members those of their own team where it lets them. Members in person only: a team's token that could issue others
 * would outlive its own revocation. Throws `not-found` for a team that the actor may not see, else what `refuse` makes of
 * the team's name.
 */
export async function requireTeamForTokens(ctx: Ctx, teamId: string, refuse = forbidTokens) {
  const team = await store.findTeam(ctx.db, ctx.actor, teamId)
  if (!team) throw notFound('team')
  const facts = readFacts(ctx.actor, { organizationId: team.organization_id, facts: team.facts })
  const can = teamPermissions(facts, {
    isOwners: team.is_owners,
    visibility: team.visibility,
    allowsMemberTokens: team.allow_member_token_management,
    isMember: team.is_member,
    isPerson: ctx.actor.kind === 'user' && ctx.actor.teamId === undefined,
  })
  if (!can.has('team:read')) throw notFound('team')
  checkDemands(facts)
  if (!can.has('tokens:manage')) throw refuse(team.name)
  return { ...team, facts }
}

function forbidTokens(team: string) {
  return forbidden(`you may not manage the tokens of the team ${team}`)
}

/** To whoever may not manage a team's tokens there are none. */
export function hideTokens() {
  return notFound('token')
}

/** As `requireTeamForTokens`, to make one: whoever has a token of a team may do all that the team may. */
export async function requireTeamForNewToken(ctx: Ctx, teamId: string) {
  const team = await requireTeamForTokens(ctx, teamId)
  checkHoldsAccess(team.facts, team, team.name)
  return team
}
