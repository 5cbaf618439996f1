import type { CreateToken } from '@groundstate/contract/tokens'
import type { Ctx } from '../../../app.ts'
import { audited, recordAudits } from '../../../audit/record.ts'
import { readAccessContext } from '../../../auth/access-context.ts'
import { checkSignInPolicy } from '../../../auth/sign-in-policy.ts'
import { teamPermissions } from '../../../auth/team-permissions.ts'
import { type Page, rejectTakenName, transact } from '../../../db/db.ts'
import { AppError, forbidden, invalid, notFound } from '../../../errors.ts'
import { raise } from '../../../events.ts'
import { deleteSingleToken, issueToken, requireSingleToken, requireTokenOwner } from '../../identity/tokens/service.ts'
import { type TokenRow, deleteToken, findToken, tokenAudit, tokensDeleted } from '../../identity/tokens/store.ts'
import { requireOrganization, requireOrganizationById } from '../organizations/access.ts'
import { checkHoldsAccess } from '../teams/access.ts'
import * as store from './store.ts'

type Guard = (ctx: Ctx, token: TokenRow) => Promise<unknown>

/** The guard for tokens of each kind. Tokens of runs and task results cannot be managed. */
const GUARDS: Record<TokenRow['kind'], Guard | undefined> = {
  user: async (ctx, token) => requireTokenOwner(ctx, token.user_id ?? ''),
  team: async (ctx, token) => requireTeamForTokens(ctx, token.team_id ?? ''),
  organization: async (ctx, token) => requireOrganizationById(ctx, token.organization_id ?? '', 'tokens:manage'),
  'audit-trails': async (ctx, token) => requireOrganizationById(ctx, token.organization_id ?? '', 'tokens:manage'),
  agent: async (ctx, token) => requireOrganizationById(ctx, token.organization_id ?? '', 'agent-pools:manage'),
  run: undefined,
  task: undefined,
}

/** A token that the actor may manage. Throws only `not-found`: INTERFACE §5.2.1 has no 403 here. */
export async function requireToken(ctx: Ctx, id: string) {
  const token = await findToken(ctx.db, id)
  const guard = token && GUARDS[token.kind]
  if (!token || !guard) throw notFound('token')
  try {
    await guard(ctx, token)
  } catch (error) {
    if (error instanceof AppError) throw notFound('token')
    throw error
  }
  return token
}

/** Revokes a token immediately on every replica. */
export async function deleteAuthenticationToken(ctx: Ctx, id: string) {
  const token = await requireToken(ctx, id)
  await audited(ctx, tokenAudit('destroy', token), async (ctx) => {
    await deleteToken(ctx.db, token.id)
    await raise(ctx, tokensDeleted, { tokenIds: [token.id] })
  })
}

/** An organization has one token to configure it, and one to read its audit trail. */
type OrganizationTokenKind = 'organization' | 'audit-trails'

export async function showOrganizationToken(ctx: Ctx, name: string, kind: OrganizationTokenKind) {
  const organization = await requireOrganization(ctx, name, 'organization:read')
  if (!organization.can.has('tokens:manage')) throw notFound('token')
  return requireSingleToken(ctx, { kind, organization_id: organization.id })
}

type CreateOrganizationToken = CreateToken & { kind: OrganizationTokenKind }

export async function createOrganizationToken(ctx: Ctx, name: string, { kind, ...input }: CreateOrganizationToken) {
  const organization = await requireOrganization(ctx, name, 'tokens:manage')
  checkNoTeamToken(ctx)
  return issueToken(ctx, { kind, organization_id: organization.id }, input)
}

export async function deleteOrganizationToken(ctx: Ctx, name: string, kind: OrganizationTokenKind) {
  const organization = await requireOrganization(ctx, name, 'tokens:manage')
  await deleteSingleToken(ctx, { kind, organization_id: organization.id })
}

/**
 * A team whose tokens the actor may manage. Owners manage the tokens of all teams, team managers those of all teams but the owners,
 * and members those of their team if its settings allow it. A member must be a person: a team's token that could create others would
 * survive its own revocation. Throws `not-found` for a team that the actor may not see, otherwise the error of `refuse`.
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
  checkSignInPolicy(access)
  if (!can.has('tokens:manage')) throw refuse(team.name)
  return { ...team, access }
}

const forbidTokens = (team: string) => forbidden(`you may not manage the tokens of the team ${team}`)
/** A team's tokens do not exist for an actor that may not manage them. */
const hideTokens = () => notFound('token')

/** As `requireTeamForTokens`, to create a token. It gets the team's access, which the actor must have too. */
async function requireTeamForNewToken(ctx: Ctx, teamId: string) {
  const team = await requireTeamForTokens(ctx, teamId)
  // The token of another team could in turn create one of the actor's team, unless that is the owners team, which only owners manage.
  if (team.access.role !== 'owner' || team.is_member) checkNoTeamToken(ctx)
  await checkHoldsAccess(ctx, [team])
  return team
}

/** Throws `forbidden` for a team's token, which must not create tokens that survive its own revocation. */
function checkNoTeamToken({ actor }: Ctx) {
  if (actor.kind !== 'user' || actor.teamId === undefined) return
  throw forbidden('the token of a team may not create this token: use the token or session of a person')
}

/** Creates a named token of a team; its name is the description, unique in the team. */
export async function createTeamToken(ctx: Ctx, teamId: string, input: CreateToken) {
  const team = await requireTeamForNewToken(ctx, teamId)
  if (input.description == null) throw invalid("description can't be blank", '/data/attributes/description')
  const detail = 'Description has already been taken'
  return rejectTakenName({ constraint: 'tokens_team_description_key', attribute: 'description', detail }, async () =>
    issueToken(ctx, tokenSubject(team), input),
  )
}

type ListTeamTokens = Pick<store.TeamTokenQuery, 'q' | 'expiry' | 'sort' | 'descending'> & { page: Page }

export async function listTokensOfTeam(ctx: Ctx, teamId: string, { page, ...query }: ListTeamTokens) {
  const team = await requireTeamForTokens(ctx, teamId, hideTokens)
  const scope = { all: true, owners: true, memberId: undefined }
  const where = { organizationId: team.organization_id, teamId: team.id, scope, now: ctx.now() }
  return store.listTeamTokens(ctx.db, { ...query, ...where }, page)
}

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

/** The token of a team without a name, of which it has one. */
export async function showLegacyTeamToken(ctx: Ctx, teamId: string) {
  const team = await requireTeamForTokens(ctx, teamId, hideTokens)
  return requireSingleToken(ctx, { team_id: team.id, is_legacy: true })
}

export async function createLegacyTeamToken(ctx: Ctx, teamId: string, input: CreateToken) {
  const team = await requireTeamForNewToken(ctx, teamId)
  return issueToken(ctx, { ...tokenSubject(team), is_legacy: true }, { ...input, description: undefined })
}

export async function deleteLegacyTeamToken(ctx: Ctx, teamId: string) {
  const team = await requireTeamForTokens(ctx, teamId)
  await deleteSingleToken(ctx, { team_id: team.id, is_legacy: true })
}

export async function deleteTeamTokens(ctx: Ctx, name: string, ids: readonly string[]) {
  const organization = await requireOrganization(ctx, name, 'tokens:manage')
  await transact(ctx, async (ctx) => {
    const tokens = await store.deleteTeamTokens(ctx.db, organization.id, ids)
    await recordAudits(
      ctx,
      tokens.map((token) => tokenAudit('destroy', token)),
    )
  })
}

/** A team's token acts as its service account. */
function tokenSubject(team: { id: string; organization_id: string; service_user_id: string }) {
  const { id, organization_id, service_user_id } = team
  return { kind: 'team', team_id: id, organization_id, user_id: service_user_id } as const
}
