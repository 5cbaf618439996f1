import { forbidden, notFound } from '../errors.ts'
import type { AccessContext } from './access-context.ts'

/*
 * All permissions. Pure functions derive them from access contexts: `organization-permissions.ts`, `project-permissions.ts`,
 * `workspace-permissions.ts`, `team-permissions.ts`. Routes, lists, jobs and the `permissions` of resources all call them. SQL repeats two rules
 * for lists that the database pages: visible rows (`visibility.ts`), and permissions on a project (`GRANTING` in the store of projects; a test
 * compares it with `projectPermissions`).
 */

export const ORGANIZATION_PERMISSIONS = [
  /** Existence, name and entitlements. */
  'organization:read',
  'organization:update',
  'organization:delete',
  'workspaces:create',
  /** Settings of every workspace, and everything in it. */
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
  /** Names of connections to hosts of repositories, and of SSH keys. */
  'vcs-settings:read',
  'vcs-settings:manage',
  /** Modules and providers of the private registry. */
  'registry:read',
  'modules:manage',
  'providers:manage',
  /** Policies, and the sets that enforce them. */
  'policies:read',
  'policies:manage',
  'variable-sets:read',
  'variable-sets:manage',
  'tags:manage',
  'audit-trail:read',
  /** Owners only: permanent deletion of state data, retention, plans. */
  'owner',
] as const
export type OrganizationPermission = (typeof ORGANIZATION_PERMISSIONS)[number]

export const WORKSPACE_PERMISSIONS = [
  /** Existence, settings and lock. */
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
  /** The full plan, which contains the values of sensitive variables. */
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

export function without<Name extends string>(names: readonly Name[], ...omitted: Name[]): ReadonlySet<Name> {
  return new Set(names.filter((name) => !omitted.includes(name)))
}

/** The permissions that remain while the actor does not meet the organization's sign-in policy: `visible` or none. */
export function limitedBySignIn<Name extends string>(
  { signInRequirement }: AccessContext,
  permissions: ReadonlySet<Name>,
  visible: NoInfer<Name>,
): ReadonlySet<Name> {
  return signInRequirement && permissions.size > 0 ? new Set([visible]) : permissions
}

/**
 * The error for an actor that lacks `permission` on something visible, such as `the workspace app`: `not-found` for reading (INTERFACE §1.3),
 * otherwise `forbidden`.
 */
export function refusal(permission: string, on: string) {
  const [noun = permission, verb] = permission.split(':', 2)
  return verb === 'read'
    ? notFound(noun.replaceAll('-', ' '))
    : forbidden(`this needs the permission ${permission} ${on}`)
}
