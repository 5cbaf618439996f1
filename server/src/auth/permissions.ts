import { forbidden, notFound } from '../errors.ts'
import { impliedGrant, type ProjectGrant, WORKSPACE_LEVELS, type WorkspaceGrant } from './grants.ts'

/**
 * The permission model: pure functions from facts to sets of permissions. Routes, lists, jobs and the `permissions`
 * blocks of resources all ask these functions. Lists cut into pages find in SQL what is visible (`facts.ts`), and that of
 * projects what may be done there (`GRANTING` in its store): a test holds that against `projectPermissions`.
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
  /** The full plan: it holds the values of sensitive variables, which nobody else is shown. */
  'plan-json:read',
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

/** Where the actor stands towards one organization, and one project or workspace in it; loaded by `facts.ts`. */
export type Facts = {
  standing: Standing
  access: ReadonlySet<OrganizationAccess>
  projectGrants: readonly ProjectGrant[]
  workspaceGrants: readonly WorkspaceGrant[]
  /** What the organization demands of how its members sign in, and the actor has not done: see `checkDemands`. */
  demands?: keyof typeof DEMANDS | undefined
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

const DEMANDS = {
  'second-factor': 'this organization demands two-factor authentication: switch it on in the settings of your account',
  'new-session':
    'your session is too old for this organization, or was unused for too long: sign out, and sign in again',
} as const

/**
 * Refuses members who have not signed in as the organization demands, and tells them what to do: with a second factor,
 * which people who sign in elsewhere are not asked for, and not too long ago. Tokens of teams and organizations are asked
 * for neither, and API tokens for no session. A guard that forgets this leaves them the permission to see that the resource
 * is there, and no other.
 */
export function checkDemands({ demands }: Facts) {
  if (demands) throw forbidden(DEMANDS[demands])
}

/**
 * What a guard throws for want of `permission` on something visible, such as `the workspace app`: to read is to see, so what
 * may not be read does not exist (INTERFACE §1.3); what may not be done is forbidden.
 */
export function refusal(permission: string, on: string) {
  const [noun = permission, verb] = permission.split(':', 2)
  return verb === 'read'
    ? notFound(noun.replaceAll('-', ' '))
    : forbidden(`this needs the permission ${permission} ${on}`)
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
  if (level.locking) permissions.push('lock')
  return permissions
}

const ALL_ORGANIZATION: ReadonlySet<OrganizationPermission> = new Set(ORGANIZATION_PERMISSIONS)
const ALL_PROJECT: ReadonlySet<ProjectPermission> = new Set(PROJECT_PERMISSIONS)
const ALL_WORKSPACE: ReadonlySet<WorkspacePermission> = new Set(WORKSPACE_PERMISSIONS)
const NO_WORKSPACE: ReadonlySet<WorkspacePermission> = new Set()
/** Moving a workspace changes who else may use it, so it takes a permission on its project. */
const WORKSPACE_ADMIN = without(WORKSPACE_PERMISSIONS, 'workspace:move')

/**
 * An organization's token sets workspaces up; it starts no run and writes no state (INTERFACE §1.2.4), and reads no full plan
 * (public documentation, "Plans").
 */
const ORGANIZATION_TOKEN_WORKSPACE = without(
  WORKSPACE_PERMISSIONS,
  'runs:plan',
  'runs:apply',
  'state-versions:write',
  'policy-overrides',
  'plan-json:read',
)
/** It manages what is in the organization, not the organization itself or its tokens (public documentation, "API tokens"). */
const ORGANIZATION_TOKEN = without(
  ORGANIZATION_PERMISSIONS,
  'organization:update',
  'organization:delete',
  'tokens:manage',
  'owner',
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

function without<Name extends string>(names: readonly Name[], ...left: Name[]): ReadonlySet<Name> {
  return new Set(names.filter((name) => !left.includes(name)))
}

/** What the actor may do to the workspace that the facts are about; an empty set means that it may not see it. */
export function workspacePermissions(facts: Facts): ReadonlySet<WorkspacePermission> {
  const permissions = grantedWorkspace(facts)
  return facts.demands && permissions.size > 0 ? new Set(['workspace:read']) : permissions
}

function grantedWorkspace(facts: Facts): ReadonlySet<WorkspacePermission> {
  const { standing, access } = facts
  if (standing !== 'member') return WORKSPACE_STANDINGS[standing]
  if (access.has('manage_projects')) return ALL_WORKSPACE
  const permissions = new Set<WorkspacePermission>()
  const add = (names: Iterable<WorkspacePermission>) => {
    for (const name of names) permissions.add(name)
  }
  if (access.has('manage_workspaces')) add(WORKSPACE_ADMIN)
  if (access.has('read_workspaces')) add(grantPermissions({ access: 'read', ...WORKSPACE_LEVELS.read }))
  for (const grant of facts.workspaceGrants) {
    add(grant.access === 'admin' ? WORKSPACE_ADMIN : grantPermissions(grant))
  }
  for (const grant of facts.projectGrants) {
    const { access, workspace_delete, workspace_move } = impliedGrant(grant)
    add(access === 'admin' || access === 'maintain' ? WORKSPACE_ADMIN : grantPermissions(grant))
    if (workspace_delete) add(['workspace:delete'])
    if (workspace_move) add(['workspace:move'])
  }
  if (permissions.size === 0) return permissions
  if (access.has('manage_run_tasks')) add(['run-tasks:manage'])
  if (access.has('manage_policy_overrides')) add(['policy-overrides'])
  return permissions
}

const WORKSPACE_STANDINGS = {
  system: ALL_WORKSPACE,
  owner: ALL_WORKSPACE,
  'organization-token': ORGANIZATION_TOKEN_WORKSPACE,
  'own-run': OWN_RUN,
  'consumer-run': CONSUMER_RUN,
  'foreign-run': NO_WORKSPACE,
  stranger: NO_WORKSPACE,
} as const satisfies Record<Exclude<Standing, 'member'>, ReadonlySet<WorkspacePermission>>

/** What the actor may do to the project that the facts are about; an empty set means that it may not see it. */
export function projectPermissions(facts: Facts): ReadonlySet<ProjectPermission> {
  const permissions = grantedProject(facts)
  return facts.demands && permissions.size > 0 ? new Set(['project:read']) : permissions
}

function grantedProject(facts: Facts): ReadonlySet<ProjectPermission> {
  const { standing, access } = facts
  if (standing !== 'member') return PROJECT_STANDINGS[standing]
  if (access.has('manage_projects')) return ALL_PROJECT
  const permissions = new Set<ProjectPermission>()
  const add = (...names: ProjectPermission[]) => names.forEach((name) => permissions.add(name))
  if (access.has('read_projects') || access.has('read_workspaces')) add('project:read')
  if (access.has('manage_workspaces')) add('project:read', 'workspaces:create')
  for (const grant of facts.projectGrants) {
    if (grant.access === 'admin') return ALL_PROJECT
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

const SEE_PROJECT: ReadonlySet<ProjectPermission> = new Set(['project:read'])
const NO_PROJECT: ReadonlySet<ProjectPermission> = new Set()
const PROJECT_STANDINGS = {
  system: ALL_PROJECT,
  owner: ALL_PROJECT,
  'organization-token': ALL_PROJECT,
  'own-run': SEE_PROJECT,
  'consumer-run': NO_PROJECT,
  'foreign-run': NO_PROJECT,
  stranger: NO_PROJECT,
} as const satisfies Record<Exclude<Standing, 'member'>, ReadonlySet<ProjectPermission>>

/** What the actor may do to the organization that the facts are about; an empty set means that it may not see it. */
export function organizationPermissions(facts: Facts): ReadonlySet<OrganizationPermission> {
  const permissions = grantedOrganization(facts)
  return facts.demands && permissions.size > 0 ? new Set(['organization:read']) : permissions
}

function grantedOrganization(facts: Facts): ReadonlySet<OrganizationPermission> {
  if (facts.standing !== 'member') return ORGANIZATION_STANDINGS[facts.standing]
  const permissions = new Set(MEMBER)
  for (const access of facts.access) for (const name of ACCESS_GRANTS[access]) permissions.add(name)
  return permissions
}

const MEMBER: ReadonlySet<OrganizationPermission> = new Set([
  'organization:read',
  'run-tasks:read',
  'agent-pools:read',
  'variable-sets:read',
])
const SEE_ORGANIZATION: ReadonlySet<OrganizationPermission> = new Set(['organization:read'])
const ORGANIZATION_STANDINGS = {
  system: ALL_ORGANIZATION,
  owner: ALL_ORGANIZATION,
  'organization-token': ORGANIZATION_TOKEN,
  'own-run': SEE_ORGANIZATION,
  'consumer-run': SEE_ORGANIZATION,
  'foreign-run': SEE_ORGANIZATION,
  stranger: new Set<OrganizationPermission>(),
} as const satisfies Record<Exclude<Standing, 'member'>, ReadonlySet<OrganizationPermission>>

const MEMBERS = ['members:read', 'members:manage'] as const
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
  manage_membership: MEMBERS,
  manage_teams: [...MEMBERS, 'teams:manage'],
  manage_organization_access: [...MEMBERS, 'teams:manage', 'teams:manage-access'],
  access_secret_teams: ['teams:read-all'],
  manage_agent_pools: ['agent-pools:manage'],
}
