import { forbidden } from '../errors.ts'
import { type Facts, ORGANIZATION_ACCESS, type OrganizationAccess, organizationPermissions } from './permissions.ts'

export const TEAM_PERMISSIONS = [
  /** That it exists, who is in it and what it may do. */
  'team:read',
  /** Name, visibility and sign-on. */
  'team:update',
  'team:delete',
  'organization-access:update',
  'members:manage',
  'tokens:manage',
] as const
export type TeamPermission = (typeof TEAM_PERMISSIONS)[number]

/** What decides about a team beside the facts about its organization. */
export type TeamFacts = {
  isOwners: boolean
  visibility: 'secret' | 'organization'
  allowsMemberTokens: boolean
  /** The actor is one of the team: a person, or the team's own token. */
  isMember: boolean
  /** The actor is a person, and not a team's token: that could make tokens which outlive its own revocation. */
  isPerson: boolean
}

/**
 * What the actor may do to a team of the organization that the facts are about; an empty set means that it may not see
 * it. Members see the visible teams and their own; who manages teams or members manages those that it sees, as far as
 * `checkHoldsAccess` lets it, and owners alone manage the owners (public documentation, "Permissions").
 */
export function teamPermissions(facts: Facts, team: TeamFacts): ReadonlySet<TeamPermission> {
  const permissions = grantedTeam(facts, team)
  return facts.demands && permissions.size > 0 ? new Set(['team:read']) : permissions
}

function grantedTeam(facts: Facts, team: TeamFacts): ReadonlySet<TeamPermission> {
  const can = organizationPermissions(facts)
  const permissions = new Set<TeamPermission>()
  const { standing } = facts
  if (standing !== 'member') {
    const acts = standing === 'system' || standing === 'owner' || standing === 'organization-token'
    if (!acts) return permissions
    // To change who is an owner, or let sign-on do so, is to do what owners do.
    if (team.isOwners && standing === 'organization-token') return new Set(['team:read'])
    const granted = new Set<TeamPermission>(TEAM_PERMISSIONS)
    if (team.isOwners) granted.delete('team:delete')
    return granted
  }
  if (!team.isMember && team.visibility !== 'organization' && !can.has('teams:read-all')) return permissions
  permissions.add('team:read')
  if (team.isMember && team.allowsMemberTokens && team.isPerson) permissions.add('tokens:manage')
  if (team.isOwners) return permissions
  if (can.has('members:manage')) permissions.add('members:manage')
  if (can.has('teams:manage')) {
    for (const name of ['team:update', 'team:delete', 'tokens:manage'] as const) permissions.add(name)
  }
  if (can.has('teams:manage-access')) permissions.add('organization-access:update')
  return permissions
}

/** Access by column, as a team has it or is to get it. */
export type AccessColumns = Partial<Record<OrganizationAccess, boolean>>

/** Access that holds other access: who has the first may do all of the rest. */
const IMPLIED: Partial<Record<OrganizationAccess, readonly OrganizationAccess[]>> = {
  manage_projects: ['manage_workspaces', 'read_projects', 'read_workspaces'],
  manage_workspaces: ['read_projects', 'read_workspaces'],
  manage_organization_access: ['manage_teams', 'manage_membership'],
  manage_teams: ['manage_membership'],
}

/** The access among `columns` that a member of the organization lacks; nothing is missing to owners and the like. */
export function missingAccess({ standing, access }: Facts, columns: AccessColumns): OrganizationAccess[] {
  if (standing !== 'member') return []
  const held = new Set([...access].flatMap((name) => [name, ...(IMPLIED[name] ?? [])]))
  return ORGANIZATION_ACCESS.filter((name) => columns[name] && !held.has(name))
}

/**
 * Whoever could put somebody into a team, make its tokens or set its access would get all that it may do: they must have
 * that already. `columns` is the team's access, with what it is to get. Throws `forbidden` with the names of what is missing.
 */
export function checkHoldsAccess(facts: Facts, columns: AccessColumns, teamName: string) {
  const missing = missingAccess(facts, columns)
  if (missing.length === 0) return
  const names = missing.map((name) => name.replaceAll('_', '-')).join(', ')
  throw forbidden(`the team ${teamName} may do more in the organization than you, who lack ${names}`)
}
