import type { TeamResource } from '@groundstate/contract/teams'
import type { Ctx } from '../../../app.ts'
import { listMembers } from './members-store.ts'
import { teamResource } from './resource.ts'
import type { Team } from './team.ts'

/** Presents teams with their members. The caller has authorised the teams. */
export async function showTeams(ctx: Ctx, teams: readonly Team[]): Promise<TeamResource[]> {
  const members = await listMembers(
    ctx.db,
    teams.map(({ id }) => id),
  )
  const ofTeam = Map.groupBy(members, (member) => member.team_id)
  return teams.map((team) => teamResource(team, ofTeam.get(team.id) ?? []))
}

/** As `showTeams`, for one. */
export async function showTeam(ctx: Ctx, team: Team) {
  const [resource] = await showTeams(ctx, [team])
  if (!resource) throw new Error('every team has a resource')
  return resource
}
