import type { CreateToken } from '@groundstate/contract/tokens'
import type { Ctx } from '../../../app.ts'
import { readFacts } from '../../../auth/facts.ts'
import { checkDemands } from '../../../auth/permissions.ts'
import { checkHoldsAccess, teamPermissions } from '../../../auth/team-permissions.ts'
import { isUniqueViolation, transact } from '../../../db/db.ts'
import { forbidden, invalid, notFound } from '../../../errors.ts'
import { requireOrganization } from '../organizations/service.ts'
import { type IssuedToken, issueToken, reissueToken, tokenAudit } from '../../identity/tokens/issue.ts'
import * as store from './store.ts'
import { recordAudit } from '../../../audit/record.ts'
import type { Page } from '../../../db/page.ts'

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
function hideTokens() {
  return notFound('token')
}

/** As `requireTeamForTokens`, to make one: whoever has a token of a team may do all that the team may. */
async function requireTeamForNewToken(ctx: Ctx, teamId: string) {
  const team = await requireTeamForTokens(ctx, teamId)
  checkHoldsAccess(team.facts, team, team.name)
  return team
}

type Team = Awaited<ReturnType<typeof requireTeamForTokens>>

function subject(team: Team) {
  return {
    kind: 'team',
    team_id: team.id,
    organization_id: team.organization_id,
    user_id: team.service_user_id,
  } as const
}

/** The team's one token without a name. */
export async function showLegacyTeamToken(ctx: Ctx, teamId: string) {
  const team = await requireTeamForTokens(ctx, teamId, hideTokens)
  const token = await store.findLegacyToken(ctx.db, team.id)
  if (!token) throw notFound('token')
  return token
}

/** Makes the team's one token without a name, and revokes the one that was there. */
export async function createLegacyTeamToken(ctx: Ctx, teamId: string, input: CreateToken): Promise<IssuedToken> {
  const team = await requireTeamForNewToken(ctx, teamId)
  const { description: _, ...rest } = input
  return reissueToken(ctx, { ...subject(team), is_legacy: true }, rest)
}

export async function deleteLegacyTeamToken(ctx: Ctx, teamId: string) {
  const team = await requireTeamForTokens(ctx, teamId)
  await transact(ctx, async (ctx) => {
    const token = await store.deleteLegacyToken(ctx.db, team.id)
    if (!token) throw notFound('token')
    await recordAudit(ctx, tokenAudit('destroy', token))
  })
}

/** Makes one of a team's named tokens; the description is its name, which the team has once. */
export async function createTeamToken(ctx: Ctx, teamId: string, input: CreateToken): Promise<IssuedToken> {
  const team = await requireTeamForNewToken(ctx, teamId)
  if (!input.description) throw invalid("description can't be blank", '/data/attributes/description')
  try {
    return await issueToken(ctx, subject(team), input)
  } catch (error) {
    if (isUniqueViolation(error, 'tokens_team_description_key'))
      throw invalid('Description has already been taken', '/data/attributes/description')
    throw error
  }
}

export type ListTeamTokens = Pick<store.TeamTokenQuery, 'q' | 'expiry' | 'sort' | 'descending'> & { page: Page }

export async function listTokensOfTeam(ctx: Ctx, teamId: string, { page, ...query }: ListTeamTokens) {
  const team = await requireTeamForTokens(ctx, teamId, hideTokens)
  const scope = { all: true, owners: true, memberId: undefined }
  const where = { organizationId: team.organization_id, teamId: team.id, scope, now: ctx.now() }
  return store.listTeamTokens(ctx.db, { ...query, ...where }, page)
}

/** The team tokens of an organization that the actor may manage. */
export async function listTeamTokens(ctx: Ctx, name: string, { page, ...query }: ListTeamTokens) {
  const { id, can } = await requireOrganization(ctx, name, 'organization:read')
  const isPerson = ctx.actor.kind === 'user' && ctx.actor.teamId === undefined
  const scope = {
    all: can.has('tokens:manage') || can.has('teams:manage'),
    owners: can.has('tokens:manage'),
    memberId: ctx.actor.kind === 'user' && isPerson ? ctx.actor.userId : undefined,
  }
  return store.listTeamTokens(ctx.db, { ...query, organizationId: id, scope, now: ctx.now() }, page)
}

/** Revokes many team tokens at once; ids of anything else are left alone. */
export async function deleteTeamTokens(ctx: Ctx, name: string, ids: readonly string[]) {
  const organization = await requireOrganization(ctx, name, 'tokens:manage')
  await transact(ctx, async (ctx) => {
    const tokens = await store.deleteTeamTokens(ctx.db, organization.id, ids)
    for (const token of tokens) await recordAudit(ctx, tokenAudit('destroy', token))
  })
}
