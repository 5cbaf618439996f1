import type { Actor } from '../../../auth/actor.ts'
import type { Facts } from '../../../auth/facts.ts'
import type { TeamFacts, TeamPermission } from '../../../auth/team-permissions.ts'
import type * as store from './store.ts'

export type FoundTeam = NonNullable<Awaited<ReturnType<typeof store.findTeam>>>

/** A team that the actor may see, with what it may do with it. */
export type Team = Omit<FoundTeam, 'facts'> & { can: ReadonlySet<TeamPermission>; facts: Facts }

type TeamColumns = Pick<FoundTeam, 'is_owners' | 'visibility' | 'allow_member_token_management' | 'is_member'>

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
