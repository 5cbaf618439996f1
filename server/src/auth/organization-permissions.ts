import type { AccessContext, Role } from './access-context.ts'
import type { OrganizationAccess } from './grants.ts'
import { ORGANIZATION_PERMISSIONS, type OrganizationPermission, limitedBySignIn, without } from './permissions.ts'

/** The actor's permissions on an organization. Empty if the actor may not see it. */
export function organizationPermissions(accessContext: AccessContext): ReadonlySet<OrganizationPermission> {
  return limitedBySignIn(accessContext, granted(accessContext), 'organization:read')
}

function granted(accessContext: AccessContext): ReadonlySet<OrganizationPermission> {
  if (accessContext.role !== 'member') return BY_ROLE[accessContext.role]
  const permissions = new Set<OrganizationPermission>(MEMBER)
  for (const access of accessContext.organizationAccess) ACCESS_GRANTS[access]?.forEach((name) => permissions.add(name))
  return permissions
}

const ALL: ReadonlySet<OrganizationPermission> = new Set(ORGANIZATION_PERMISSIONS)
/** The token manages the contents of the organization, but not the organization or its tokens (public documentation, "API tokens"). */
const NOT_FOR_TOKEN = ['organization:update', 'organization:delete', 'tokens:manage', 'owner'] as const
const MEMBER = [
  'organization:read',
  'run-tasks:read',
  'agent-pools:read',
  'vcs-settings:read',
  'variable-sets:read',
  'registry:read',
  'policies:read',
] as const
const READ: ReadonlySet<OrganizationPermission> = new Set(['organization:read'])
/** Runs install modules and providers of their organization; those of a fork's configuration do not. */
const RUN: ReadonlySet<OrganizationPermission> = new Set(['organization:read', 'registry:read'])
const BY_ROLE = {
  system: ALL,
  owner: ALL,
  'organization-token': without(ORGANIZATION_PERMISSIONS, ...NOT_FOR_TOKEN),
  'own-run': RUN,
  'consumer-run': READ,
  'foreign-run': RUN,
  stranger: new Set<OrganizationPermission>(),
} as const satisfies Record<Exclude<Role, 'member'>, ReadonlySet<OrganizationPermission>>

const MEMBERS = ['members:read', 'members:manage'] as const
const ACCESS_GRANTS: Partial<Record<OrganizationAccess, readonly OrganizationPermission[]>> = {
  manage_workspaces: ['workspaces:create', 'workspaces:manage', 'variable-sets:manage', 'tags:manage'],
  manage_vcs_settings: ['vcs-settings:manage'],
  manage_modules: ['modules:manage'],
  manage_providers: ['providers:manage'],
  manage_policies: ['policies:manage'],
  manage_run_tasks: ['run-tasks:manage'],
  manage_projects: ['projects:create', 'workspaces:create', 'variable-sets:manage', 'tags:manage'],
  manage_membership: MEMBERS,
  manage_teams: [...MEMBERS, 'teams:manage'],
  manage_organization_access: [...MEMBERS, 'teams:manage', 'teams:manage-access'],
  access_secret_teams: ['teams:read-all'],
  manage_agent_pools: ['agent-pools:manage'],
}
