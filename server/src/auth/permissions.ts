import { forbidden, notFound } from '../errors.ts'

/**
 * The names of all permissions. Pure functions turn facts into sets of them: `organization-permissions.ts`,
 * `project-permissions.ts`, `workspace-permissions.ts`, `team-permissions.ts`. Routes, lists, jobs and the
 * `permissions` blocks of resources all call these functions. Two things are repeated in SQL, for lists that are paged
 * there: which rows are visible (`visibility.ts`), and what may be done in a project (`GRANTING` in the store of
 * projects). A test compares the SQL of projects with `projectPermissions`.
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
  /** Owners only: permanent deletion of state data, retention, plans. */
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
  /** The full plan. It holds the values of sensitive variables, which nothing else shows. */
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

/** All of `names` but those `left` out. */
export function without<Name extends string>(names: readonly Name[], ...left: Name[]): ReadonlySet<Name> {
  return new Set(names.filter((name) => !left.includes(name)))
}

/**
 * The error for an actor that lacks `permission` on something visible, such as `the workspace app`. What the actor may
 * not read does not exist for it (INTERFACE §1.3). What it may not do is forbidden.
 */
export function refusal(permission: string, on: string) {
  const [noun = permission, verb] = permission.split(':', 2)
  return verb === 'read'
    ? notFound(noun.replaceAll('-', ' '))
    : forbidden(`this needs the permission ${permission} ${on}`)
}
