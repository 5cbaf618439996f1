import type { Ctx } from '../../../app.ts'
import type { Actor } from '../../../auth/actor.ts'
import { readFacts } from '../../../auth/facts.ts'
import { checkDemands, type Facts } from '../../../auth/permissions.ts'
import { type TeamFacts, type TeamPermission, teamPermissions } from '../../../auth/team-permissions.ts'
import { forbidden, notFound } from '../../../errors.ts'
import { requireOrganization } from '../organizations/service.ts'
import * as store from './store.ts'
import type { Page, Paged } from '../../../db/page.ts'

type Found = NonNullable<Awaited<ReturnType<typeof store.findTeam>>>

/** A team that the actor may see, with what it may do with it. */
export type Team = Omit<Found, 'facts'> & { can: ReadonlySet<TeamPermission>; facts: Facts }

/**
 * Loads the team and checks `permission` in one query. Throws `not-found` when the actor may not see it, `forbidden` when
 * it sees it but lacks the permission.
 */
export async function requireTeam(ctx: Ctx, id: string, permission: TeamPermission): Promise<Team> {
  const row = await store.findTeam(ctx.db, ctx.actor, id)
  const team = row && readable(ctx, row)
  if (!team) throw notFound('team')
  checkDemands(team.facts)
  if (!team.can.has(permission)) throw forbidden(`this needs the permission ${permission} on the team ${team.name}`)
  return team
}

function readable(ctx: Ctx, row: Found): Team | undefined {
  const { facts: column, ...team } = row
  const facts = readFacts(ctx.actor, { organizationId: row.organization_id, facts: column })
  return present(ctx, team, facts)
}

function present(ctx: Ctx, row: Omit<Found, 'facts'>, facts: Facts): Team | undefined {
  const can = teamPermissions(facts, teamFacts(ctx.actor, row))
  return can.has('team:read') ? { ...row, can, facts } : undefined
}

type TeamColumns = Pick<Found, 'is_owners' | 'visibility' | 'allow_member_token_management' | 'is_member'>

/** What the permission model asks about a team, from its row. */
export function teamFacts(actor: Actor, row: TeamColumns): TeamFacts {
  return {
    isOwners: row.is_owners,
    visibility: row.visibility,
    allowsMemberTokens: row.allow_member_token_management,
    isMember: row.is_member,
    isPerson: actor.kind === 'user' && actor.teamId === undefined,
  }
}

/** Those of the teams that the actor may see, in the order of their names, for includes and relations. */
export async function listReadableTeams(ctx: Ctx, ids: readonly string[]): Promise<Team[]> {
  if (ids.length === 0) return []
  const rows = await store.findTeams(ctx.db, ctx.actor, ids)
  return rows.flatMap((row) => readable(ctx, row) ?? [])
}

/** A team that was just made, which its maker sees whatever its visibility. */
export async function showNewTeam(ctx: Ctx, id: string, facts: Facts): Promise<Team> {
  const row = await store.findTeam(ctx.db, ctx.actor, id)
  if (!row) throw notFound('team')
  const { facts: _, ...team } = row
  return { ...team, facts, can: teamPermissions(facts, { ...teamFacts(ctx.actor, row), isMember: true }) }
}

export type ListTeams = { page: Page; names: readonly string[] | undefined; q: string | undefined }

export async function listTeams(ctx: Ctx, name: string, { page, names, q }: ListTeams): Promise<Paged<Team>> {
  const organization = await requireOrganization(ctx, name, 'organization:read')
  const { facts, can } = organization
  // Runs and other programs see the organization, and none of its teams.
  if (facts.standing.endsWith('-run')) return { rows: [], total: 0 }
  const filter = {
    organizationId: organization.id,
    all: facts.standing !== 'member' || can.has('teams:read-all'),
    names,
    q,
  }
  const { rows, total } = await store.listTeams(ctx.db, ctx.actor, filter, page)
  return { rows: rows.flatMap((row) => present(ctx, row, facts) ?? []), total }
}

/** The owners team, as which an organization's token locks workspaces. */
export async function findOwnersTeamId(ctx: Ctx, organizationId: string) {
  return (await store.findOwnersTeam(ctx.db, organizationId)).id
}
