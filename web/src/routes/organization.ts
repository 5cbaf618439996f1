import { createRoute, redirect } from '@tanstack/react-router'
import { AUDIT_SEARCH } from '../features/audit-trail/audit-search.ts'
import { NOTIFICATION_SEARCH } from '../features/notifications/notification-search.ts'
import { RUN_FILTERS } from '../features/runs/list/runs-query.ts'
import { WORKSPACE_FILTERS, WORKSPACE_SORTS } from '../features/workspaces/workspaces-search.ts'
import { searchParams } from '../search-params.ts'
import { below, page } from './page.ts'
import { frame } from './root.ts'

export const organization = createRoute({
  getParentRoute: () => frame,
  path: '/app/$organization',
  ...page(async () => import('../features/organizations/organization-frame.tsx'), 'OrganizationFrame'),
})

const overview = createRoute({
  getParentRoute: () => organization,
  path: '/',
  ...page(async () => import('../features/overview/overview-page.tsx'), 'OverviewPage'),
})
const workspaces = createRoute({
  getParentRoute: () => organization,
  path: 'workspaces',
  validateSearch: searchParams({
    ...WORKSPACE_FILTERS,
    sort: WORKSPACE_SORTS,
    page: 'number',
    new: 'flag',
    upload: 'flag',
    import: 'flag',
  }),
  ...page(async () => import('../features/workspaces/workspaces-page.tsx'), 'WorkspacesPage'),
})
const runs = createRoute({
  getParentRoute: () => organization,
  path: 'runs',
  validateSearch: searchParams({ ...RUN_FILTERS, page: 'number' }),
  ...page(async () => import('../features/runs/list/runs-page.tsx'), 'RunsPage'),
})
const runById = createRoute({
  getParentRoute: () => organization,
  path: 'runs/$run',
  ...page(
    async () => import('../features/runs/page/run-page.tsx'),
    'RunByIdPage',
    ({ run = '' }) => [{ text: 'Runs' }, { text: run }],
  ),
})
const projects = createRoute({
  getParentRoute: () => organization,
  path: 'projects',
  validateSearch: searchParams({ q: 'text', sort: ['name', '-name'], page: 'number', new: 'flag' }),
  ...page(async () => import('../features/projects/projects-page.tsx'), 'ProjectsPage'),
})
const project = createRoute({
  getParentRoute: () => organization,
  path: 'projects/$project',
  validateSearch: searchParams({ ...NOTIFICATION_SEARCH, tab: 'text', q: 'text' }),
  ...page(
    async () => import('../features/projects/project-page.tsx'),
    'ProjectPage',
    below('Projects', '/app/$organization/projects'),
  ),
})
const variableSets = createRoute({
  getParentRoute: () => organization,
  path: 'variable-sets',
  validateSearch: searchParams({
    q: 'text',
    scope: ['global', 'selected'],
    page: 'number',
    new: 'flag',
    /** The project that owns the new set. */
    project: 'text',
  }),
  ...page(async () => import('../features/variable-sets/variable-sets-page.tsx'), 'VariableSetsPage'),
})
const variableSet = createRoute({
  getParentRoute: () => organization,
  path: 'variable-sets/$set',
  validateSearch: searchParams({ tab: 'text', q: 'text', edit: 'text', page: 'number' }),
  ...page(
    async () => import('../features/variable-sets/variable-set-page.tsx'),
    'VariableSetPage',
    below('Variable sets', '/app/$organization/variable-sets'),
  ),
})
const runTasks = createRoute({
  getParentRoute: () => organization,
  path: 'run-tasks',
  validateSearch: searchParams({ q: 'text', page: 'number', new: 'flag' }),
  ...page(async () => import('../features/run-tasks/run-tasks-page.tsx'), 'RunTasksPage'),
})
const runTask = createRoute({
  getParentRoute: () => organization,
  path: 'run-tasks/$task',
  validateSearch: searchParams({
    tab: ['attachments', 'deliveries', 'test', 'settings'],
    /** Whether the attachments show workspaces to which the task is not attached too. */
    all: 'flag',
    q: 'text',
    status: ['succeeded', 'failed'],
    delivery: 'text',
    page: 'number',
  }),
  ...page(
    async () => import('../features/run-tasks/run-task-page.tsx'),
    'RunTaskPage',
    below('Run tasks', '/app/$organization/run-tasks'),
  ),
})
const policies = createRoute({
  getParentRoute: () => organization,
  path: 'policies',
  validateSearch: searchParams({ tab: 'text', q: 'text', page: 'number', new: 'flag' }),
  ...page(async () => import('../features/policies/policies-page.tsx'), 'PoliciesPage'),
})
const POLICIES = below('Policies', '/app/$organization/policies')
const policy = createRoute({
  getParentRoute: () => organization,
  path: 'policies/$policy',
  ...page(async () => import('../features/policies/policy-page.tsx'), 'PolicyPage', POLICIES),
})
const policySet = createRoute({
  getParentRoute: () => organization,
  path: 'policy-sets/$set',
  validateSearch: searchParams({ tab: 'text' }),
  ...page(async () => import('../features/policies/policy-set-page.tsx'), 'PolicySetPage', POLICIES),
})
const runTriggers = createRoute({
  getParentRoute: () => organization,
  path: 'run-triggers',
  validateSearch: searchParams({
    view: ['graph', 'list'],
    q: 'text',
    project: 'text',
    sort: ['source', 'destination', 'last-fired-at'].flatMap((name) => [name, `-${name}`]),
    page: 'number',
    new: 'flag',
  }),
  ...page(async () => import('../features/run-triggers/run-triggers-page.tsx'), 'RunTriggersPage'),
})
const registry = createRoute({
  getParentRoute: () => organization,
  path: 'registry',
  validateSearch: searchParams({
    tab: ['modules', 'providers'],
    q: 'text',
    provider: 'text',
    registry: ['private', 'public'],
    page: 'number',
    new: 'flag',
  }),
  ...page(async () => import('../features/registry/registry-page.tsx'), 'RegistryPage'),
})
const REGISTRY = below('Registry', '/app/$organization/registry')
const registryModule = createRoute({
  getParentRoute: () => organization,
  path: 'registry/modules/$name/$provider',
  validateSearch: searchParams({
    tab: ['readme', 'inputs', 'outputs', 'dependencies', 'resources', 'workspaces', 'versions'],
    version: 'text',
    /** The directory of a submodule or an example. */
    module: 'text',
    q: 'text',
    new: 'flag',
  }),
  ...page(async () => import('../features/registry/module-page.tsx'), 'ModulePage', REGISTRY),
})
const registryProvider = createRoute({
  getParentRoute: () => organization,
  path: 'registry/providers/$name',
  validateSearch: searchParams({ version: 'text' }),
  ...page(async () => import('../features/registry/provider-page.tsx'), 'ProviderPage', REGISTRY),
})
const connections = createRoute({
  getParentRoute: () => organization,
  path: 'connections',
  validateSearch: searchParams({ page: 'number' }),
  ...page(async () => import('../features/connections/connections-page.tsx'), 'ConnectionsPage'),
})
const CONNECTIONS = below('Connections', '/app/$organization/connections')
const newConnection = createRoute({
  getParentRoute: () => organization,
  path: 'connections/new',
  validateSearch: searchParams({ host: 'text' }),
  ...page(async () => import('../features/connections/new-connection-page.tsx'), 'NewConnectionPage', CONNECTIONS),
})
const connection = createRoute({
  getParentRoute: () => organization,
  path: 'connections/$connection',
  validateSearch: searchParams({
    tab: ['overview', 'deliveries', 'events', 'settings'],
    status: ['pending', 'decided', 'ignored', 'failed'],
    repository: 'text',
    delivery: 'text',
    page: 'number',
  }),
  ...page(async () => import('../features/connections/connection-page.tsx'), 'ConnectionPage', CONNECTIONS),
})
const agents = createRoute({
  getParentRoute: () => organization,
  path: 'agents',
  validateSearch: searchParams({ q: 'text', page: 'number', new: 'flag' }),
  ...page(async () => import('../features/agents/agent-pools-page.tsx'), 'AgentPoolsPage'),
})
const agentPool = createRoute({
  getParentRoute: () => organization,
  path: 'agents/$pool',
  validateSearch: searchParams({
    tab: 'text',
    q: 'text',
    status: ['idle', 'busy', 'unknown', 'errored', 'exited'],
    page: 'number',
    start: 'flag',
  }),
  ...page(
    async () => import('../features/agents/agent-pool-page.tsx'),
    'AgentPoolPage',
    below('Agents', '/app/$organization/agents'),
  ),
})
const members = createRoute({
  getParentRoute: () => organization,
  path: 'members',
  validateSearch: searchParams({
    q: 'text',
    status: ['active', 'invited'],
    team: 'text',
    page: 'number',
    invite: 'flag',
  }),
  ...page(async () => import('../features/members/members-page.tsx'), 'MembersPage'),
})
const member = createRoute({
  getParentRoute: () => organization,
  path: 'members/$member',
  validateSearch: searchParams({ q: 'text', page: 'number', projects: 'number' }),
  ...page(
    async () => import('../features/members/member-page.tsx'),
    'MemberPage',
    below('Members', '/app/$organization/members'),
  ),
})
const teams = createRoute({
  getParentRoute: () => organization,
  path: 'teams',
  validateSearch: searchParams({ q: 'text', page: 'number', new: 'flag' }),
  ...page(async () => import('../features/teams/teams-page.tsx'), 'TeamsPage'),
})
const team = createRoute({
  getParentRoute: () => organization,
  path: 'teams/$team',
  validateSearch: searchParams({ ...NOTIFICATION_SEARCH, tab: 'text', q: 'text', projects: 'number' }),
  ...page(
    async () => import('../features/teams/team-page.tsx'),
    'TeamPage',
    below('Teams', '/app/$organization/teams'),
  ),
})
const auditTrail = createRoute({
  getParentRoute: () => organization,
  path: 'audit-trail',
  validateSearch: searchParams(AUDIT_SEARCH),
  ...page(async () => import('../features/audit-trail/audit-trail-page.tsx'), 'AuditTrailPage'),
})

/** Short paths: users type the first one, and CLIs print the second one for a run. */
const shortWorkspace = createRoute({
  getParentRoute: () => organization,
  path: '$workspace',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/app/$organization/workspaces/$workspace', params })
  },
})
const shortRun = createRoute({
  getParentRoute: () => organization,
  path: '$workspace/runs/$run',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/app/$organization/workspaces/$workspace/runs/$run', params })
  },
})

export const organizationPages = [
  overview,
  workspaces,
  runs,
  runById,
  projects,
  project,
  variableSets,
  variableSet,
  runTasks,
  runTask,
  policies,
  policy,
  policySet,
  runTriggers,
  registry,
  registryModule,
  registryProvider,
  connections,
  newConnection,
  connection,
  agents,
  agentPool,
  members,
  member,
  teams,
  team,
  auditTrail,
  shortWorkspace,
  shortRun,
] as const
