import type { Resource } from '@groundstate/contract/json-api'
import type { Ctx } from '../../../app.ts'
import { includedUsers } from '../../identity/users/includes.ts'
import { listMembers, type TeamMember } from './members-store.ts'
import { teamResource, type TeamRelations } from './resource.ts'
import type { Team } from './team.ts'
import { includedMemberships } from '../organization-memberships/documents.ts'

export const TEAM_INCLUDES = ['users', 'organization-memberships'] as const

/** Presents teams with their members and what `includes` names; the number of queries does not depend on how many. */
export async function teamDocuments(ctx: Ctx, teams: readonly Team[], includes: ReadonlySet<string>) {
  const members = await listMembers(
    ctx.db,
    teams.map(({ id }) => id),
  )
  const ofTeam = Map.groupBy(members, (member) => member.team_id)
  const resources = teams.map((team) => teamResource(team, relations(ofTeam.get(team.id) ?? [])))
  if (includes.size === 0) return { resources }
  const included: Resource[] = []
  if (includes.has('users')) {
    included.push(
      ...(await includedUsers(
        ctx,
        members.map((member) => member.user_id),
      )),
    )
  }
  if (includes.has('organization-memberships')) {
    const ids = members.flatMap((member) => member.membership_id ?? [])
    included.push(...(await includedMemberships(ctx, ids)))
  }
  return { resources, included }
}

function relations(members: readonly TeamMember[]): TeamRelations {
  return {
    users: members.flatMap(({ user_id: id }) => (id === null ? [] : { id, type: 'users' })),
    memberships: members.flatMap(({ membership_id: id }) =>
      id === null ? [] : { id, type: 'organization-memberships' },
    ),
  }
}
