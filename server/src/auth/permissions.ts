import { forbidden } from '../errors.ts'

/**
 * The permission model: pure functions from facts to sets of permissions. Routes, lists, jobs and the `permissions`
 * blocks of resources all ask these functions, and nothing else decides.
 */

export const ORGANIZATION_PERMISSIONS = [
  /** That it exists, its name and its entitlements. */
  'organization:read',
  'organization:update',
  'organization:delete',
  'workspaces:create',
  /** Settings of every workspace, and everything below. */
  'workspaces:manage',
  'projects:create',
  'members:read',
  'members:manage',
  'teams:read-all',
  'teams:manage',
  'teams:manage-access',
  'tokens:manage',
  'run-tasks:read',
  'run-tasks:manage',
  'agent-pools:read',
  'agent-pools:manage',
  'variable-sets:read',
  'variable-sets:manage',
  'tags:manage',
  'audit-trail:read',
  /** What only owners may do: deleting state for good, retention, plans. */
  'owner',
] as const
export type OrganizationPermission = (typeof ORGANIZATION_PERMISSIONS)[number]

export const WORKSPACE_PERMISSIONS = [
  /** That it exists, its settings and its lock. */
  'workspace:read',
  'workspace:update',
  'workspace:delete',
  'workspace:move',
  'runs:read',
  'runs:plan',
  'runs:apply',
  'variables:read',
  'variables:write',
  'state-outputs:read',
  'state-versions:read',
  'state-versions:write',
  'lock',
  'force-unlock',
  'run-tasks:manage',
  'policy-overrides',
  'sentinel-mocks:read',
  'run-triggers:manage',
  'team-access:read',
  'team-access:manage',
  'tags:manage',
] as const
export type WorkspacePermission = (typeof WORKSPACE_PERMISSIONS)[number]

export const PROJECT_PERMISSIONS = [
  'project:read',
  'project:update',
  'project:delete',
  'workspaces:create',
  'workspaces:move',
  'team-access:read',
  'team-access:manage',
  'variable-sets:read',
  'variable-sets:manage',
  'tags:manage',
] as const
export type ProjectPermission = (typeof PROJECT_PERMISSIONS)[number]

/** What the actor's teams grant on the whole organization: the union over its teams. */
export const ORGANIZATION_ACCESS = [
  'manage_policies',
  'manage_policy_overrides',
  'delegate_policy_overrides',
  'manage_workspaces',
  'manage_vcs_settings',
  'manage_providers',
  'manage_modules',
  'manage_run_tasks',
  'manage_projects',
  'read_workspaces',
  'read_projects',
  'manage_membership',
  'manage_teams',
  'manage_organization_access',
  'access_secret_teams',
  'manage_agent_pools',
] as const
export type OrganizationAccess = (typeof ORGANIZATION_ACCESS)[number]

/** What one team may do to one workspace, or to all workspaces of one project. */
export type WorkspaceGrant = {
  access: string
  runs: 'read' | 'plan' | 'apply'
  variables: 'none' | 'read' | 'write'
  state_versions: 'none' | 'read-outputs' | 'read' | 'write'
  sentinel_mocks: 'none' | 'read'
  run_tasks: boolean
  policy_overrides: boolean
  locking: boolean
}
export type ProjectGrant = WorkspaceGrant & {
  project_settings: 'read' | 'update' | 'delete'
  project_teams: 'none' | 'read' | 'manage'
  project_variable_sets: 'none' | 'read' | 'write'
  workspace_create: boolean
  workspace_move: boolean
  workspace_delete: boolean
}

/** Where the actor stands towards one organization, and one project or workspace in it; loaded by `facts.ts`. */
export type Facts = {
  standing: Standing
  access: ReadonlySet<OrganizationAccess>
  projectGrants: readonly ProjectGrant[]
  workspaceGrants: readonly WorkspaceGrant[]
  /** The organization demands a second factor that the actor lacks: see `checkTwoFactorPolicy`. */
  lacksSecondFactor?: boolean
}
export type Standing =
  | 'system'
  | 'owner'
  | 'member'
  | 'organization-token'
  /** The engine at work in this very workspace. */
  | 'own-run'
  /** A run of another workspace that may read this one's state. */
  | 'consumer-run'
  /** A run of a workspace in the same organization. */
  | 'foreign-run'
  | 'stranger'

export const NO_FACTS: Facts = { standing: 'stranger', access: new Set(), projectGrants: [], workspaceGrants: [] }

/**
 * Refuses members without a second factor in an organization that demands one, and tells them why. People who sign in
 * elsewhere, and tokens of teams and organizations, are not asked. A guard that forgets this leaves them the permission to
 * see that the resource is there, and no other.
 */
export function checkTwoFactorPolicy(facts: Facts) {
  if (!facts.lacksSecondFactor) return
  throw forbidden('this organization demands two-factor authentication: switch it on in the settings of your account')
}

const READ_ONLY_GRANT: WorkspaceGrant = {
  access: 'read',
  runs: 'read',
  variables: 'read',
  state_versions: 'read',
  sentinel_mocks: 'none',
  run_tasks: false,
  policy_overrides: false,
  locking: false,
}

/** The fixed levels as what they imply; `custom` is what the grant itself says. */
const LEVELS: Record<string, WorkspaceGrant> = {
  read: READ_ONLY_GRANT,
  plan: { ...READ_ONLY_GRANT, runs: 'plan' },
  write: {
    ...READ_ONLY_GRANT,
    runs: 'apply',
    variables: 'write',
    state_versions: 'write',
    sentinel_mocks: 'read',
    locking: true,
  },
  maintain: {
    ...READ_ONLY_GRANT,
    runs: 'apply',
    variables: 'write',
    state_versions: 'write',
    sentinel_mocks: 'read',
    locking: true,
  },
  admin: {
    ...READ_ONLY_GRANT,
    runs: 'apply',
    variables: 'write',
    state_versions: 'write',
    sentinel_mocks: 'read',
    locking: true,
  },
}

function grantPermissions(grant: WorkspaceGrant): WorkspacePermission[] {
  const level = grant.access === 'custom' ? grant : (LEVELS[grant.access] ?? grant)
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
  if (level.locking) permissions.push('lock')
  return permissions
}

const ALL_WORKSPACE: ReadonlySet<WorkspacePermission> = new Set(WORKSPACE_PERMISSIONS)
const ALL_PROJECT: ReadonlySet<ProjectPermission> = new Set(PROJECT_PERMISSIONS)
const ALL_ORGANIZATION: ReadonlySet<OrganizationPermission> = new Set(ORGANIZATION_PERMISSIONS)

/** An organization's token sets workspaces up; it starts no run and writes no state (spec §5). */
const ORGANIZATION_TOKEN_LACKS = new Set<WorkspacePermission>([
  'runs:plan',
  'runs:apply',
  'state-versions:write',
  'policy-overrides',
])
const ORGANIZATION_TOKEN_WORKSPACE = new Set(
  WORKSPACE_PERMISSIONS.filter((name) => !ORGANIZATION_TOKEN_LACKS.has(name)),
)

const OWN_RUN = new Set<WorkspacePermission>([
  'workspace:read',
  'runs:read',
  'variables:read',
  'state-outputs:read',
  'state-versions:read',
  'state-versions:write',
])
const CONSUMER_RUN = new Set<WorkspacePermission>(['workspace:read', 'state-outputs:read', 'state-versions:read'])

/** What the actor may do to the workspace that the facts are about; an empty set means that it may not see it. */
export function workspacePermissions(facts: Facts): ReadonlySet<WorkspacePermission> {
  const permissions = grantedWorkspace(facts)
  return facts.lacksSecondFactor && permissions.size > 0 ? new Set(['workspace:read']) : permissions
}

function grantedWorkspace(facts: Facts): ReadonlySet<WorkspacePermission> {
  switch (facts.standing) {
    case 'system':
    case 'owner':
      return ALL_WORKSPACE
    case 'organization-token':
      return ORGANIZATION_TOKEN_WORKSPACE
    case 'own-run':
      return OWN_RUN
    case 'consumer-run':
      return CONSUMER_RUN
    case 'foreign-run':
    case 'stranger':
      return new Set()
    case 'member':
  }
  if (facts.access.has('manage_workspaces')) return ALL_WORKSPACE
  const permissions = new Set<WorkspacePermission>()
  for (const grant of facts.workspaceGrants) {
    if (grant.access === 'admin') return ALL_WORKSPACE
    for (const name of grantPermissions(grant)) permissions.add(name)
  }
  for (const grant of facts.projectGrants) {
    if (grant.access === 'admin' || grant.access === 'maintain') return ALL_WORKSPACE
    for (const name of grantPermissions(grant)) permissions.add(name)
    if (grant.access === 'custom') {
      if (grant.workspace_delete) permissions.add('workspace:delete')
      if (grant.workspace_move) permissions.add('workspace:move')
    }
  }
  if (facts.access.has('read_workspaces')) for (const name of grantPermissions(READ_ONLY_GRANT)) permissions.add(name)
  if (facts.access.has('manage_run_tasks') && permissions.size > 0) permissions.add('run-tasks:manage')
  if (facts.access.has('manage_policy_overrides') && permissions.size > 0) permissions.add('policy-overrides')
  return permissions
}

/** What the actor may do to the project that the facts are about; an empty set means that it may not see it. */
export function projectPermissions(facts: Facts): ReadonlySet<ProjectPermission> {
  const permissions = grantedProject(facts)
  return facts.lacksSecondFactor && permissions.size > 0 ? new Set(['project:read']) : permissions
}

function grantedProject(facts: Facts): ReadonlySet<ProjectPermission> {
  switch (facts.standing) {
    case 'system':
    case 'owner':
    case 'organization-token':
      return ALL_PROJECT
    case 'own-run':
    case 'consumer-run':
    case 'foreign-run':
      return new Set(['project:read'])
    case 'stranger':
      return new Set()
    case 'member':
  }
  if (facts.access.has('manage_projects')) return ALL_PROJECT
  const permissions = new Set<ProjectPermission>()
  const add = (...names: ProjectPermission[]) => names.forEach((name) => permissions.add(name))
  for (const grant of facts.projectGrants) {
    add('project:read')
    if (grant.access === 'admin') return ALL_PROJECT
    if (grant.access === 'maintain')
      add('workspaces:create', 'workspaces:move', 'variable-sets:read', 'variable-sets:manage', 'tags:manage')
    if (grant.access === 'write') add('variable-sets:read')
    if (grant.access === 'read') add('variable-sets:read')
    if (grant.access !== 'custom') continue
    if (grant.project_settings !== 'read') add('project:update', 'tags:manage')
    if (grant.project_settings === 'delete') add('project:delete')
    if (grant.project_teams !== 'none') add('team-access:read')
    if (grant.project_teams === 'manage') add('team-access:manage')
    if (grant.project_variable_sets !== 'none') add('variable-sets:read')
    if (grant.project_variable_sets === 'write') add('variable-sets:manage')
    if (grant.workspace_create) add('workspaces:create')
    if (grant.workspace_move) add('workspaces:move')
  }
  if (facts.access.has('manage_workspaces')) add('project:read', 'workspaces:create', 'workspaces:move')
  if (facts.access.has('read_projects') || facts.access.has('read_workspaces')) add('project:read')
  return permissions
}

/** What the actor may do to the organization that the facts are about; an empty set means that it may not see it. */
export function organizationPermissions(facts: Facts): ReadonlySet<OrganizationPermission> {
  const permissions = grantedOrganization(facts)
  return facts.lacksSecondFactor && permissions.size > 0 ? new Set(['organization:read']) : permissions
}

function grantedOrganization(facts: Facts): ReadonlySet<OrganizationPermission> {
  switch (facts.standing) {
    case 'system':
    case 'owner':
      return ALL_ORGANIZATION
    case 'organization-token':
      return new Set(
        ORGANIZATION_PERMISSIONS.filter(
          (name) => name !== 'organization:delete' && name !== 'owner' && name !== 'tokens:manage',
        ),
      )
    case 'own-run':
    case 'consumer-run':
    case 'foreign-run':
      return new Set(['organization:read'])
    case 'stranger':
      return new Set()
    case 'member':
  }
  const permissions = new Set<OrganizationPermission>([
    'organization:read',
    'members:read',
    'run-tasks:read',
    'agent-pools:read',
    'variable-sets:read',
  ])
  for (const access of facts.access) for (const name of ACCESS_GRANTS[access]) permissions.add(name)
  return permissions
}

const ACCESS_GRANTS: Record<OrganizationAccess, readonly OrganizationPermission[]> = {
  manage_policies: [],
  manage_policy_overrides: [],
  delegate_policy_overrides: [],
  manage_workspaces: ['workspaces:create', 'workspaces:manage', 'variable-sets:manage', 'tags:manage'],
  manage_vcs_settings: [],
  manage_providers: [],
  manage_modules: [],
  manage_run_tasks: ['run-tasks:manage'],
  manage_projects: ['projects:create', 'workspaces:create', 'variable-sets:manage', 'tags:manage'],
  read_workspaces: [],
  read_projects: [],
  manage_membership: ['members:manage'],
  manage_teams: ['members:manage', 'teams:manage'],
  manage_organization_access: ['members:manage', 'teams:manage', 'teams:manage-access'],
  access_secret_teams: ['teams:read-all'],
  manage_agent_pools: ['agent-pools:manage'],
}
