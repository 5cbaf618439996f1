import { type AccessContext, NO_ACCESS } from './access-context.ts'
import { ORGANIZATION_ACCESS, type OrganizationAccess, type ProjectGrant, type WorkspaceGrant } from './grants.ts'
import { organizationPermissions } from './organization-permissions.ts'
import { limitedBySignIn } from './permissions.ts'
import { projectPermissions } from './project-permissions.ts'
import { workspacePermissions } from './workspace-permissions.ts'

export const TEAM_PERMISSIONS = [
  /** Existence, members and access. */
  'team:read',
  /** Name, visibility and single sign-on. */
  'team:update',
  'team:delete',
  'organization-access:update',
  'members:manage',
  'tokens:manage',
] as const
export type TeamPermission = (typeof TEAM_PERMISSIONS)[number]

export type TeamAccessContext = {
  isOwners: boolean
  visibility: 'secret' | 'organization'
  allowsMemberTokens: boolean
  isMember: boolean
  /** False for a team's token, which could otherwise create tokens that outlive its revocation. */
  isPerson: boolean
}

/**
 * The actor's permissions on a team of the organization. Empty if the actor may not see it. Members see visible teams and their own.
 * Permissions to manage teams or members apply to the teams that the actor sees, within the limits of `checkHoldsAccess` (teams). Only owners manage
 * the owners team (public documentation, "Permissions").
 */
export function teamPermissions(accessContext: AccessContext, team: TeamAccessContext): ReadonlySet<TeamPermission> {
  return limitedBySignIn(accessContext, granted(accessContext, team), 'team:read')
}

function granted(accessContext: AccessContext, team: TeamAccessContext): ReadonlySet<TeamPermission> {
  const can = organizationPermissions(accessContext)
  const permissions = new Set<TeamPermission>()
  const { role } = accessContext
  if (role !== 'member') {
    const mayManage = role === 'system' || role === 'owner' || role === 'organization-token'
    if (!mayManage) return permissions
    // Only owners change the owners, manually or through single sign-on.
    if (team.isOwners && role === 'organization-token') return new Set(['team:read'])
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

/** The actual or requested access of a team by column. */
export type AccessColumns = Partial<Record<OrganizationAccess, boolean>>

const IMPLIED: Partial<Record<OrganizationAccess, readonly OrganizationAccess[]>> = {
  manage_projects: ['manage_workspaces', 'read_projects', 'read_workspaces'],
  manage_workspaces: ['read_projects', 'read_workspaces'],
  manage_organization_access: ['manage_teams', 'manage_membership'],
  manage_teams: ['manage_membership'],
}

/** The access among `columns` that a member of the organization lacks. Other roles, such as owners, lack nothing. */
export function missingAccess(
  { role, organizationAccess }: AccessContext,
  columns: AccessColumns,
): OrganizationAccess[] {
  if (role !== 'member') return []
  const held = new Set([...organizationAccess].flatMap((name) => [name, ...(IMPLIED[name] ?? [])]))
  return ORGANIZATION_ACCESS.filter((name) => columns[name] && !held.has(name))
}

/** Whether a member of the organization may do everything that a grant on the same project or workspace allows. Other roles lack nothing. */
export function holdsGrant(accessContext: AccessContext, grant: ProjectGrant | WorkspaceGrant) {
  if (accessContext.role !== 'member') return true
  const grants = 'project_settings' in grant ? { projectGrants: [grant] } : { workspaceGrants: [grant] }
  const granted: AccessContext = { ...NO_ACCESS, role: 'member', ...grants }
  const [onProject, onWorkspace] = [projectPermissions(accessContext), workspacePermissions(accessContext)]
  return (
    [...projectPermissions(granted)].every((name) => onProject.has(name)) &&
    [...workspacePermissions(granted)].every((name) => onWorkspace.has(name))
  )
}
