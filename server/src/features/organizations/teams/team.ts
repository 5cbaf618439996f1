import type { AccessContext } from '../../../auth/access-context.ts'
import type { Actor } from '../../../auth/actor.ts'
import type { TeamAccessContext, TeamPermission } from '../../../auth/team-permissions.ts'
import type * as store from './store.ts'

export type FoundTeam = NonNullable<Awaited<ReturnType<typeof store.findTeam>>>

/** A team that the actor may see, with what it may do with it. */
export type Team = Omit<FoundTeam, 'access'> & { can: ReadonlySet<TeamPermission>; access: AccessContext }

type TeamColumns = Pick<FoundTeam, 'is_owners' | 'visibility' | 'allow_member_token_management' | 'is_member'>

/** What the permission model asks about a team, from its row. */
export function teamAccess(actor: Actor, row: TeamColumns): TeamAccessContext {
  return {
    isOwners: row.is_owners,
    visibility: row.visibility,
    allowsMemberTokens: row.allow_member_token_management,
    isMember: row.is_member,
    isPerson: actor.kind === 'user' && actor.teamId === undefined,
  }
}
