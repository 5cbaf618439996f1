import type { AccessContext, Role } from './access-context.ts'
import { WORKSPACE_LEVELS, type WorkspaceGrant, impliedGrant } from './grants.ts'
import { WORKSPACE_PERMISSIONS, type WorkspacePermission, limitedBySignIn, without } from './permissions.ts'

/** The actor's permissions on a workspace. Empty if the actor may not see it. */
export function workspacePermissions(accessContext: AccessContext): ReadonlySet<WorkspacePermission> {
  return limitedBySignIn(accessContext, granted(accessContext), 'workspace:read')
}

function granted(accessContext: AccessContext): ReadonlySet<WorkspacePermission> {
  const { role, organizationAccess } = accessContext
  if (role !== 'member') return BY_ROLE[role]
  if (organizationAccess.has('manage_projects')) return ALL
  const permissions = new Set<WorkspacePermission>()
  const add = (names: Iterable<WorkspacePermission>) => [...names].forEach((name) => permissions.add(name))
  if (organizationAccess.has('manage_workspaces')) add(ADMIN)
  if (organizationAccess.has('read_workspaces')) add(grantPermissions({ access: 'read', ...WORKSPACE_LEVELS.read }))
  for (const grant of accessContext.workspaceGrants) {
    add(grant.access === 'admin' ? ADMIN : grantPermissions(grant))
  }
  for (const grant of accessContext.projectGrants) {
    const { access, workspace_delete, workspace_move } = impliedGrant(grant)
    add(access === 'admin' || access === 'maintain' ? ADMIN : grantPermissions(grant))
    if (workspace_delete) add(['workspace:delete'])
    if (workspace_move) add(['workspace:move'])
  }
  if (permissions.size === 0) return permissions
  if (organizationAccess.has('manage_run_tasks')) add(['run-tasks:manage'])
  if (organizationAccess.has('manage_policy_overrides')) add(['policy-overrides'])
  return permissions
}

function grantPermissions(grant: WorkspaceGrant): WorkspacePermission[] {
  const level = impliedGrant(grant)
  const permissions: WorkspacePermission[] = ['workspace:read', 'runs:read']
  if (level.runs !== 'read') permissions.push('runs:plan')
  if (level.runs === 'apply') permissions.push('runs:apply')
  if (level.variables !== 'none') permissions.push('variables:read')
  if (level.variables === 'write') permissions.push('variables:write')
  if (level.state_versions !== 'none') permissions.push('state-outputs:read')
  if (level.state_versions === 'read' || level.state_versions === 'write') permissions.push('state-versions:read')
  if (level.state_versions === 'write') permissions.push('state-versions:write')
  if (level.sentinel_mocks === 'read') permissions.push('sentinel-mocks:read')
  if (level.run_tasks) permissions.push('run-tasks:manage')
  if (level.policy_overrides) permissions.push('policy-overrides')
  if (level.workspace_locking) permissions.push('lock')
  return permissions
}

const ALL: ReadonlySet<WorkspacePermission> = new Set(WORKSPACE_PERMISSIONS)
const NONE: ReadonlySet<WorkspacePermission> = new Set()
/** Moving a workspace changes who may use it, so it requires a permission on its project. */
const ADMIN = without(WORKSPACE_PERMISSIONS, 'workspace:move')

/** An organization's token cannot start runs or write states (INTERFACE §1.2.4), nor read full plans (public documentation, "Plans"). */
const ORGANIZATION_TOKEN = without(
  WORKSPACE_PERMISSIONS,
  'runs:plan',
  'runs:apply',
  'state-versions:write',
  'policy-overrides',
  'plan-json:read',
)
const OWN_RUN: ReadonlySet<WorkspacePermission> = new Set([
  'workspace:read',
  'runs:read',
  'variables:read',
  'state-outputs:read',
  'state-versions:read',
  'state-versions:write',
  'plan-json:read',
])
const CONSUMER_RUN: ReadonlySet<WorkspacePermission> = new Set([
  'workspace:read',
  'state-outputs:read',
  'state-versions:read',
])

const BY_ROLE = {
  system: ALL,
  owner: ALL,
  'organization-token': ORGANIZATION_TOKEN,
  'own-run': OWN_RUN,
  'consumer-run': CONSUMER_RUN,
  'foreign-run': NONE,
  stranger: NONE,
} as const satisfies Record<Exclude<Role, 'member'>, ReadonlySet<WorkspacePermission>>
