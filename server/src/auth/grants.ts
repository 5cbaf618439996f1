import {
  type OrganizationAccessInput,
  organizationAccess as organizationAccessSchema,
} from '@groundstate/contract/teams'

type SnakeCase<Name> = Name extends `${infer Start}-${infer Rest}` ? `${Start}_${SnakeCase<Rest>}` : Name
export type OrganizationAccess = SnakeCase<keyof OrganizationAccessInput>

/** A team's access to the whole organization, as columns of teams. An actor has the access of all its teams. */
export const ORGANIZATION_ACCESS = Object.keys(organizationAccessSchema.shape).map(
  (name) => name.replaceAll('-', '_') as OrganizationAccess,
)

/** SQL of a team's access as a bit set; `bit_or` combines those of several teams. */
export const ORGANIZATION_ACCESS_BITS = ORGANIZATION_ACCESS.map((name, bit) => `(${name}::integer << ${bit})`).join(
  ' | ',
)

export function organizationAccess(bits: number): ReadonlySet<OrganizationAccess> {
  return new Set(ORGANIZATION_ACCESS.filter((_, bit) => (bits & (1 << bit)) !== 0))
}

/** A team's access to one workspace, or to all workspaces of one project. */
export type WorkspaceGrant = {
  access: string
  runs: 'read' | 'plan' | 'apply'
  variables: 'none' | 'read' | 'write'
  state_versions: 'none' | 'read-outputs' | 'read' | 'write'
  sentinel_mocks: 'none' | 'read'
  run_tasks: boolean
  policy_overrides: boolean
  workspace_locking: boolean
}
export type ProjectGrant = WorkspaceGrant & {
  project_settings: 'read' | 'update' | 'delete'
  project_teams: 'none' | 'read' | 'manage'
  project_variable_sets: 'none' | 'read' | 'write'
  workspace_create: boolean
  workspace_move: boolean
  workspace_delete: boolean
}

type WorkspaceAccess = Omit<WorkspaceGrant, 'access'>
type ProjectAccess = Omit<ProjectGrant, 'access'>

const READ: WorkspaceAccess = {
  runs: 'read',
  variables: 'read',
  state_versions: 'read',
  sentinel_mocks: 'none',
  run_tasks: false,
  policy_overrides: false,
  workspace_locking: false,
}
const WRITE: WorkspaceAccess = {
  ...READ,
  runs: 'apply',
  variables: 'write',
  state_versions: 'write',
  sentinel_mocks: 'read',
  workspace_locking: true,
}
const ADMIN: WorkspaceAccess = { ...WRITE, run_tasks: true, policy_overrides: true }

/** The defaults of `custom` access to a workspace. */
export const CUSTOM_WORKSPACE: WorkspaceAccess = { ...READ, variables: 'none', state_versions: 'none' }

/** Permissions implied by each fixed level of access to a workspace (public documentation, "Permissions"). */
export const WORKSPACE_LEVELS = {
  read: READ,
  plan: { ...READ, runs: 'plan' },
  write: WRITE,
  admin: ADMIN,
} as const satisfies Record<string, WorkspaceAccess>

const READ_PROJECT = {
  project_settings: 'read',
  project_teams: 'none',
  project_variable_sets: 'read',
  workspace_create: false,
  workspace_move: false,
  workspace_delete: false,
} as const

/** The defaults of `custom` access to a project. */
export const CUSTOM_PROJECT: ProjectAccess = { ...READ_PROJECT, ...CUSTOM_WORKSPACE, project_variable_sets: 'none' }

/** Permissions implied by each fixed level of access to a project (public documentation, "Project team access"). */
export const PROJECT_LEVELS = {
  read: { ...READ_PROJECT, ...READ },
  write: { ...READ_PROJECT, ...WRITE },
  maintain: {
    ...READ_PROJECT,
    ...ADMIN,
    project_variable_sets: 'write',
    workspace_create: true,
    workspace_delete: true,
  },
  admin: {
    ...ADMIN,
    project_settings: 'delete',
    project_teams: 'manage',
    project_variable_sets: 'write',
    workspace_create: true,
    workspace_move: true,
    workspace_delete: true,
  },
} as const satisfies Record<string, ProjectAccess>

/** The grant with the permissions of its level, which override the other columns of the row. */
export function impliedGrant<Grant extends WorkspaceGrant>(grant: Grant): Grant {
  const levels: Record<string, Partial<ProjectAccess>> = 'project_settings' in grant ? PROJECT_LEVELS : WORKSPACE_LEVELS
  return { ...grant, ...levels[grant.access] }
}
