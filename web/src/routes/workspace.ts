import { createRoute } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { NOTIFICATION_SEARCH } from '../features/notifications/notification-search.ts'
import { RUN_FILTERS } from '../features/runs/list/runs-query.ts'
import { WORKSPACE_TABS } from '../features/workspaces/workspace-sections.ts'
import type { Crumb } from '../frame/top-bar.tsx'
import { searchParams } from '../search-params.ts'
import { organization } from './organization.ts'
import { page } from './page.ts'

const workspace = createRoute({
  getParentRoute: () => organization,
  path: 'workspaces/$workspace',
  validateSearch: searchParams({ start: 'flag', destroy: 'flag', lock: 'flag', upload: 'flag', import: 'flag' }),
  ...page(async () => import('../features/workspaces/workspace-frame.tsx'), 'WorkspaceFrame', crumbs()),
})
const overview = createRoute({
  getParentRoute: () => workspace,
  path: '/',
  validateSearch: searchParams({ q: 'text', module: 'text', type: 'text', page: 'number' }),
  ...page(async () => import('../features/workspaces/overview-tab.tsx'), 'OverviewTab', crumbs()),
})
/** Options of a tab of a workspace, with the export `name` of a lazy chunk. */
function tabOf<const Path extends string, Module extends Record<Name, () => ReactNode>, Name extends string>(
  path: Path,
  load: () => Promise<Module>,
  name: Name,
) {
  return {
    getParentRoute: () => workspace,
    path,
    ...page<Record<Name, () => ReactNode>>(load, name, crumbs(path)),
  }
}
const runs = createRoute({
  ...tabOf('runs', async () => import('../features/runs/list/runs-page.tsx'), 'RunsTab'),
  validateSearch: searchParams({ ...RUN_FILTERS, page: 'number' }),
})
const states = createRoute({
  ...tabOf('states', async () => import('../features/states/states-tab.tsx'), 'StatesTab'),
  /** `version` is the open version; `from` and `to` are the pins of a diff. */
  validateSearch: searchParams({ version: 'text', show: 'text', from: 'text', to: 'text', q: 'text', page: 'number' }),
})
const variables = createRoute({
  ...tabOf('variables', async () => import('../features/variables/variables-tab.tsx'), 'VariablesTab'),
  validateSearch: searchParams({ q: 'text', edit: 'text' }),
})
const tasks = createRoute(tabOf('tasks', async () => import('../features/run-tasks/tasks-tab.tsx'), 'TasksTab'))
const triggers = createRoute(
  tabOf('triggers', async () => import('../features/run-triggers/triggers-tab.tsx'), 'TriggersTab'),
)
const deliveries = createRoute({
  ...tabOf('deliveries', async () => import('../features/vcs-deliveries/deliveries-tab.tsx'), 'DeliveriesTab'),
  validateSearch: searchParams({ page: 'number' }),
})
const access = createRoute(tabOf('access', async () => import('../features/team-access/access-tab.tsx'), 'AccessTab'))
const settings = createRoute({
  getParentRoute: () => workspace,
  path: 'settings',
  ...page(async () => import('../features/workspaces/settings-frame.tsx'), 'SettingsFrame', crumbs('settings')),
})
const general = createRoute({
  getParentRoute: () => settings,
  path: '/',
  ...page(async () => import('../features/workspaces/general-settings.tsx'), 'GeneralSettings', crumbs('settings')),
})
const tags = createRoute({
  getParentRoute: () => settings,
  path: 'tags',
  ...page(async () => import('../features/workspaces/tags-settings.tsx'), 'TagsSettings', crumbs('settings')),
})
const execution = createRoute({
  getParentRoute: () => settings,
  path: 'execution',
  ...page(async () => import('../features/workspaces/execution-settings.tsx'), 'ExecutionSettings', crumbs('settings')),
})
const repository = createRoute({
  getParentRoute: () => settings,
  path: 'repository',
  ...page(
    async () => import('../features/workspace-repository/repository-settings.tsx'),
    'RepositorySettings',
    crumbs('settings'),
  ),
})
const notifications = createRoute({
  getParentRoute: () => settings,
  path: 'notifications',
  validateSearch: searchParams(NOTIFICATION_SEARCH),
  ...page(
    async () => import('../features/notifications/workspace-notifications.tsx'),
    'WorkspaceNotifications',
    crumbs('settings'),
  ),
})
const policies = createRoute({
  getParentRoute: () => settings,
  path: 'policies',
  ...page(async () => import('../features/policies/workspace-policies.tsx'), 'WorkspacePolicies', crumbs('settings')),
})
const workloadIdentity = createRoute({
  getParentRoute: () => settings,
  path: 'workload-identity',
  validateSearch: searchParams({ tab: 'text' }),
  ...page(
    async () => import('../features/workload-identity/workload-identity-settings.tsx'),
    'WorkloadIdentitySettings',
    crumbs('settings'),
  ),
})
const sharing = createRoute({
  getParentRoute: () => settings,
  path: 'sharing',
  ...page(async () => import('../features/workspaces/sharing-settings.tsx'), 'SharingSettings', crumbs('settings')),
})
const retention = createRoute({
  getParentRoute: () => settings,
  path: 'retention',
  ...page(async () => import('../features/workspaces/retention-settings.tsx'), 'RetentionSettings', crumbs('settings')),
})
const deletion = createRoute({
  getParentRoute: () => settings,
  path: 'delete',
  ...page(async () => import('../features/workspaces/deletion-settings.tsx'), 'DeletionSettings', crumbs('settings')),
})
export const run = createRoute({
  getParentRoute: () => organization,
  path: 'workspaces/$workspace/runs/$run',
  /** `part` is the open tab: changes, log, tasks or timeline; `only` filters changes, `find` searches the log. */
  validateSearch: searchParams({ part: 'text', phase: 'text', line: 'number', q: 'text', only: 'text', find: 'text' }),
  ...page(
    async () => import('../features/runs/page/run-page.tsx'),
    'RunPage',
    (params) => [...crumbs('runs')(params), { text: params['run'] ?? '' }],
  ),
})

function crumbs(tabPath?: string) {
  const tab = WORKSPACE_TABS.find(([, path]) => path === `/${tabPath}`)
  return ({ organization: name = '', workspace: text = '' }: Record<string, string>): readonly Crumb[] => {
    const params = { organization: name, workspace: text }
    const to = '/app/$organization/workspaces/$workspace'
    return [
      { text: 'Workspaces', link: { to: '/app/$organization/workspaces', params } },
      { text, link: { to, params } },
      ...(tab ? [{ text: tab[0], link: { to: to + tab[1], params } }] : []),
    ]
  }
}

export const workspacePages = workspace.addChildren([
  overview,
  runs,
  states,
  variables,
  tasks,
  triggers,
  deliveries,
  access,
  settings.addChildren([
    general,
    tags,
    execution,
    repository,
    policies,
    notifications,
    workloadIdentity,
    sharing,
    retention,
    deletion,
  ]),
])
