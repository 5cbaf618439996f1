import type { Ctx } from '../../../app.ts'
import { checkDemands } from '../../../auth/demands.ts'
import { readFacts } from '../../../auth/facts.ts'
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

/** A team's tokens do not exist for an actor that may not manage them. */
export function hideTokens() {
  return notFound('token')
}

/** As `requireTeamForTokens`, to create a token: it can do all that the team can, so the actor must hold that access too. */
export async function requireTeamForNewToken(ctx: Ctx, teamId: string) {
  const team = await requireTeamForTokens(ctx, teamId)
  checkHoldsAccess(team.facts, team, team.name)
  return team
}
