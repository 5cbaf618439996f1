import type { Ctx } from '../../../app.ts'
import { type AccessContext, readAccessContext } from '../../../auth/access-context.ts'
import { checkDemands } from '../../../auth/demands.ts'
import { type TeamPermission, teamPermissions } from '../../../auth/team-permissions.ts'
import { forbidden, notFound } from '../../../errors.ts'
import * as store from './store.ts'
import { type FoundTeam, type Team, teamAccess } from './team.ts'

/**
 * Loads the team and checks `permission` in one query. Throws `not-found` when the actor may not see it, `forbidden` when
 * it sees it but lacks the permission.
 */
export async function requireTeam(ctx: Ctx, id: string, permission: TeamPermission): Promise<Team> {
  const row = await store.findTeam(ctx.db, ctx.actor, id)
  const team = row && readableTeam(ctx, row)
  if (!team) throw notFound('team')
  checkDemands(team.access)
  if (!team.can.has(permission)) throw forbidden(`this needs the permission ${permission} on the team ${team.name}`)
  return team
}

function readableTeam(ctx: Ctx, row: FoundTeam): Team | undefined {
  const { access: column, ...team } = row
  const access = readAccessContext(ctx.actor, { organizationId: row.organization_id, access: column })
  return presentTeam(ctx, team, access)
}

export function presentTeam(ctx: Ctx, row: Omit<FoundTeam, 'access'>, access: AccessContext): Team | undefined {
  const can = teamPermissions(access, teamAccess(ctx.actor, row))
  return can.has('team:read') ? { ...row, can, access } : undefined
}

/** Those of the teams that the actor may see, in the order of their names, for includes and relations. */
export async function listReadableTeams(ctx: Ctx, ids: readonly string[]): Promise<Team[]> {
  if (ids.length === 0) return []
  const rows = await store.findTeams(ctx.db, ctx.actor, ids)
  return rows.flatMap((row) => readableTeam(ctx, row) ?? [])
}

/** The owners team, as which an organization's token locks workspaces. */
export async function findOwnersTeamId(ctx: Ctx, organizationId: string) {
  return (await store.findOwnersTeam(ctx.db, organizationId)).id
}
