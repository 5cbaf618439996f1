import type { AccessContext, Role } from './access-context.ts'
import { impliedGrant } from './grants.ts'
import { PROJECT_PERMISSIONS, type ProjectPermission, limitedBySignIn } from './permissions.ts'

/** The actor's permissions on a project. Empty if the actor may not see it. */
export function projectPermissions(accessContext: AccessContext): ReadonlySet<ProjectPermission> {
  return limitedBySignIn(accessContext, granted(accessContext), 'project:read')
}

function granted(accessContext: AccessContext): ReadonlySet<ProjectPermission> {
  const { role, organizationAccess } = accessContext
  if (role !== 'member') return BY_ROLE[role]
  if (organizationAccess.has('manage_projects')) return ALL
  const permissions = new Set<ProjectPermission>()
  const add = (...names: ProjectPermission[]) => names.forEach((name) => permissions.add(name))
  if (organizationAccess.has('read_projects') || organizationAccess.has('read_workspaces')) add('project:read')
  if (organizationAccess.has('manage_workspaces'))
    add('project:read', 'workspaces:create', 'variable-sets:read', 'variable-sets:manage')
  for (const grant of accessContext.projectGrants) {
    if (grant.access === 'admin') return ALL
    const level = impliedGrant(grant)
    add('project:read')
    if (level.project_settings !== 'read') add('project:update', 'tags:manage')
    if (level.project_settings === 'delete') add('project:delete')
    if (level.project_teams !== 'none') add('team-access:read')
    if (level.project_teams === 'manage') add('team-access:manage')
    if (level.project_variable_sets !== 'none') add('variable-sets:read')
    if (level.project_variable_sets === 'write') add('variable-sets:manage')
    if (level.workspace_create) add('workspaces:create')
    if (level.workspace_move) add('workspaces:move')
  }
  return permissions
}

const ALL: ReadonlySet<ProjectPermission> = new Set(PROJECT_PERMISSIONS)
const READ: ReadonlySet<ProjectPermission> = new Set(['project:read'])
const NONE: ReadonlySet<ProjectPermission> = new Set()
const BY_ROLE = {
  system: ALL,
  owner: ALL,
  'organization-token': ALL,
  'own-run': READ,
  'consumer-run': NONE,
  'foreign-run': NONE,
  stranger: NONE,
} as const satisfies Record<Exclude<Role, 'member'>, ReadonlySet<ProjectPermission>>
