import { describe, expect, test } from 'vitest'
import { type AccessContext, NO_ACCESS, type Role } from './access-context.ts'
import { CUSTOM_PROJECT, CUSTOM_WORKSPACE, type OrganizationAccess } from './grants.ts'
import { organizationPermissions } from './organization-permissions.ts'
import {
  ORGANIZATION_PERMISSIONS,
  PROJECT_PERMISSIONS,
  WORKSPACE_PERMISSIONS,
  type WorkspacePermission,
} from './permissions.ts'
import { projectPermissions } from './project-permissions.ts'
import { TEAM_PERMISSIONS, teamPermissions } from './team-permissions.ts'
import { workspacePermissions } from './workspace-permissions.ts'

const role = (role: Role): AccessContext => ({ ...NO_ACCESS, role })
const member = (accessContext: Partial<AccessContext> = {}): AccessContext => ({
  ...NO_ACCESS,
  role: 'member',
  ...accessContext,
})
const access = (...names: OrganizationAccess[]) => member({ organizationAccess: new Set(names) })
const onWorkspace = (access: string, parts = {}) =>
  member({ workspaceGrants: [{ ...CUSTOM_WORKSPACE, access, ...parts }] })
const onProject = (access: string, parts = {}) => member({ projectGrants: [{ ...CUSTOM_PROJECT, access, ...parts }] })

/** Permissions of each actor on a workspace: a letter for each permission in list order, `.` if denied. */
const LETTERS: Record<WorkspacePermission, string> = {
  'workspace:read': 'r',
  'workspace:update': 'u',
  'workspace:delete': 'd',
  'workspace:move': 'm',
  'runs:read': 'R',
  'runs:plan': 'P',
  'runs:apply': 'A',
  'variables:read': 'v',
  'variables:write': 'V',
  'state-outputs:read': 'o',
  'state-versions:read': 's',
  'state-versions:write': 'S',
  lock: 'l',
  'force-unlock': 'F',
  'run-tasks:manage': 'T',
  'policy-overrides': 'O',
  'sentinel-mocks:read': 'k',
  'run-triggers:manage': 'g',
  'team-access:read': 't',
  'team-access:manage': 'M',
  'tags:manage': 'b',
  'plan-json:read': 'j',
}

describe('a workspace', () => {
  test.each<[string, AccessContext, string]>([
    ['the system', role('system'), 'rudmRPAvVosSlFTOkgtMbj'],
    ['an owner', role('owner'), 'rudmRPAvVosSlFTOkgtMbj'],
    ["the organization's token", role('organization-token'), 'rudmR..vVos.lFT.kgtMb.'],
    ['its own run', role('own-run'), 'r...R..v.osS.........j'],
    ['a consumer of its state', role('consumer-run'), 'r........os...........'],
    ['another run', role('foreign-run'), '......................'],
    ['a stranger', role('stranger'), '......................'],
    ['a member without access', member(), '......................'],
    ['read', onWorkspace('read'), 'r...R..v.os...........'],
    ['plan', onWorkspace('plan'), 'r...RP.v.os...........'],
    ['write', onWorkspace('write'), 'r...RPAvVosSl...k.....'],
    ['admin', onWorkspace('admin'), 'rud.RPAvVosSlFTOkgtMbj'],
    ['custom with nothing', onWorkspace('custom'), 'r...R.................'],
    ['custom runs: plan', onWorkspace('custom', { runs: 'plan' }), 'r...RP................'],
    ['custom runs: apply', onWorkspace('custom', { runs: 'apply' }), 'r...RPA...............'],
    ['custom variables: read', onWorkspace('custom', { variables: 'read' }), 'r...R..v..............'],
    ['custom variables: write', onWorkspace('custom', { variables: 'write' }), 'r...R..vV.............'],
    ['custom state: outputs', onWorkspace('custom', { state_versions: 'read-outputs' }), 'r...R....o............'],
    ['custom state: read', onWorkspace('custom', { state_versions: 'read' }), 'r...R....os...........'],
    ['custom state: write', onWorkspace('custom', { state_versions: 'write' }), 'r...R....osS..........'],
    ['custom mocks', onWorkspace('custom', { sentinel_mocks: 'read' }), 'r...R...........k.....'],
    ['custom locking', onWorkspace('custom', { workspace_locking: true }), 'r...R.......l.........'],
    ['custom run tasks', onWorkspace('custom', { run_tasks: true }), 'r...R.........T.......'],
    ['custom overrides', onWorkspace('custom', { policy_overrides: true }), 'r...R..........O......'],
    ['project read', onProject('read'), 'r...R..v.os...........'],
    ['project write', onProject('write'), 'r...RPAvVosSl...k.....'],
    ['project maintain', onProject('maintain'), 'rud.RPAvVosSlFTOkgtMbj'],
    ['project admin', onProject('admin'), 'rudmRPAvVosSlFTOkgtMbj'],
    ['project custom with nothing', onProject('custom'), 'r...R.................'],
    ['project custom delete', onProject('custom', { workspace_delete: true }), 'r.d.R.................'],
    ['project custom move', onProject('custom', { workspace_move: true }), 'r..mR.................'],
    ['all workspaces read', access('read_workspaces'), 'r...R..v.os...........'],
    ['all workspaces managed', access('manage_workspaces'), 'rud.RPAvVosSlFTOkgtMbj'],
    ['all projects managed', access('manage_workspaces', 'manage_projects'), 'rudmRPAvVosSlFTOkgtMbj'],
    ['run tasks managed, nothing seen', access('manage_run_tasks'), '......................'],
    ['run tasks managed', access('manage_run_tasks', 'read_workspaces'), 'r...R..v.os...T.......'],
  ])('%s', (_, accessContext, expected) => {
    const can = workspacePermissions(accessContext)

    expect(WORKSPACE_PERMISSIONS.map((name) => (can.has(name) ? LETTERS[name] : '.')).join('')).toBe(expected)
  })

  test('the highest grant wins for each permission', () => {
    const accessContext = member({
      workspaceGrants: [{ ...CUSTOM_WORKSPACE, access: 'custom', variables: 'write' }],
      projectGrants: [{ ...CUSTOM_PROJECT, access: 'custom', runs: 'apply' }],
      organizationAccess: new Set(['read_workspaces']),
    })

    expect([...workspacePermissions(accessContext)].toSorted()).toEqual(
      [
        ...workspacePermissions(onWorkspace('read')),
        'runs:plan' as const,
        'runs:apply' as const,
        'variables:write' as const,
      ].toSorted(),
    )
  })

  test('a fixed level overrides the other columns of its row', () => {
    expect(workspacePermissions(onWorkspace('read', { runs: 'apply', workspace_locking: true }))).toEqual(
      workspacePermissions(onWorkspace('read')),
    )
  })
})

describe('a project', () => {
  test.each<[string, AccessContext, string]>([
    ['an owner', role('owner'), PROJECT_PERMISSIONS.join(' ')],
    ["the organization's token", role('organization-token'), PROJECT_PERMISSIONS.join(' ')],
    ['a run of a workspace in it', role('own-run'), 'project:read'],
    ['another run', role('foreign-run'), ''],
    ['a stranger', role('stranger'), ''],
    ['a member without access', member(), ''],
    ['read', onProject('read'), 'project:read variable-sets:read'],
    ['write', onProject('write'), 'project:read variable-sets:read'],
    ['maintain', onProject('maintain'), 'project:read workspaces:create variable-sets:read variable-sets:manage'],
    ['admin', onProject('admin'), PROJECT_PERMISSIONS.join(' ')],
    ['custom with nothing', onProject('custom'), 'project:read'],
    ['custom update', onProject('custom', { project_settings: 'update' }), 'project:read project:update tags:manage'],
    [
      'custom delete',
      onProject('custom', { project_settings: 'delete' }),
      'project:read project:update project:delete tags:manage',
    ],
    ['custom teams: read', onProject('custom', { project_teams: 'read' }), 'project:read team-access:read'],
    [
      'custom teams: manage',
      onProject('custom', { project_teams: 'manage' }),
      'project:read team-access:read team-access:manage',
    ],
    ['custom create', onProject('custom', { workspace_create: true }), 'project:read workspaces:create'],
    ['custom move', onProject('custom', { workspace_move: true }), 'project:read workspaces:move'],
    ['all workspaces read', access('read_workspaces'), 'project:read'],
    [
      'all workspaces managed',
      access('manage_workspaces'),
      'project:read workspaces:create variable-sets:read variable-sets:manage',
    ],
    ['all projects managed', access('manage_workspaces', 'manage_projects'), PROJECT_PERMISSIONS.join(' ')],
  ])('%s', (_, accessContext, expected) => {
    const can = projectPermissions(accessContext)

    expect(PROJECT_PERMISSIONS.filter((name) => can.has(name)).join(' ')).toBe(expected)
  })
})

describe('an organization', () => {
  const MEMBER =
    'organization:read run-tasks:read agent-pools:read vcs-settings:read registry:read policies:read variable-sets:read'
  const without = (...left: string[]) => ORGANIZATION_PERMISSIONS.filter((name) => !left.includes(name)).join(' ')
  const and = (...more: string[]) =>
    ORGANIZATION_PERMISSIONS.filter((name) => MEMBER.split(' ').includes(name) || more.includes(name)).join(' ')

  test.each<[string, AccessContext, string]>([
    ['an owner', role('owner'), without()],
    [
      'its token',
      role('organization-token'),
      without('organization:update', 'organization:delete', 'tokens:manage', 'owner'),
    ],
    ['a run in it', role('own-run'), 'organization:read registry:read'],
    ['a run, asked without a workspace', role('foreign-run'), 'organization:read registry:read'],
    ["a run of a fork's configuration", role('consumer-run'), 'organization:read'],
    ['a stranger', role('stranger'), ''],
    ['a member', member(), MEMBER],
    ['manage membership', access('manage_membership'), and('members:read', 'members:manage')],
    ['manage teams', access('manage_teams'), and('members:read', 'members:manage', 'teams:manage')],
    [
      'manage organization access',
      access('manage_organization_access'),
      and('members:read', 'members:manage', 'teams:manage', 'teams:manage-access'),
    ],
    ['access secret teams', access('access_secret_teams'), and('teams:read-all')],
    ['manage run tasks', access('manage_run_tasks'), and('run-tasks:manage')],
    ['manage modules', access('manage_modules'), and('modules:manage')],
    ['manage providers', access('manage_providers'), and('providers:manage')],
    ['manage policies', access('manage_policies'), and('policies:manage')],
    ['manage agent pools', access('manage_agent_pools'), and('agent-pools:manage')],
    [
      'manage workspaces',
      access('manage_workspaces'),
      and('workspaces:create', 'workspaces:manage', 'variable-sets:manage', 'tags:manage'),
    ],
  ])('%s', (_, accessContext, expected) => {
    const can = organizationPermissions(accessContext)

    expect(ORGANIZATION_PERMISSIONS.filter((name) => can.has(name)).join(' ')).toBe(expected)
  })
})

describe('a team', () => {
  const secret = {
    isOwners: false,
    visibility: 'secret',
    allowsMemberTokens: true,
    isMember: false,
    isPerson: true,
  } as const
  const visible = { ...secret, visibility: 'organization' } as const
  const owners = { ...visible, isOwners: true } as const
  const ALL = TEAM_PERMISSIONS.join(' ')

  test.each<[string, AccessContext, Parameters<typeof teamPermissions>[1], string]>([
    ['an owner', role('owner'), secret, ALL],
    ['an owner, of the owners', role('owner'), owners, ALL.replace('team:delete ', '')],
    ["the organization's token", role('organization-token'), secret, ALL],
    ['a stranger', role('stranger'), visible, ''],
    ['a run', role('own-run'), visible, ''],
    ['a member, of a secret one', member(), secret, ''],
    ['a member, of a visible one', member(), visible, 'team:read'],
    ['one of it', member(), { ...secret, isMember: true }, 'team:read tokens:manage'],
    [
      'one of it that keeps tokens from its members',
      member(),
      { ...secret, isMember: true, allowsMemberTokens: false },
      'team:read',
    ],
    ['its own token', member(), { ...secret, isMember: true, isPerson: false }, 'team:read'],
    ['access to secret teams', access('access_secret_teams'), secret, 'team:read'],
    ['manage membership', access('manage_membership'), visible, 'team:read members:manage'],
    ['manage membership, of a secret one', access('manage_membership'), secret, ''],
    ['manage teams', access('manage_teams'), visible, 'team:read team:update team:delete members:manage tokens:manage'],
    ['manage teams, of a secret one', access('manage_teams'), secret, ''],
    ['manage teams, of the owners', access('manage_teams'), owners, 'team:read'],
    ['manage organization access', access('manage_organization_access'), visible, ALL],
  ])('%s', (_, accessContext, team, expected) => {
    const can = teamPermissions(accessContext, team)

    expect(TEAM_PERMISSIONS.filter((name) => can.has(name)).join(' ')).toBe(expected)
  })
})
