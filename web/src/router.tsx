import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { BASE } from './api/base.ts'
import { NotFoundPage, Skeleton } from './components/feedback.tsx'
import { capitalized } from './components/numbers.ts'
import { RUN_FILTERS } from './features/runs/list/runs-query.ts'
import { WORKSPACE_FILTERS, WORKSPACE_SORTS } from './features/workspaces/workspaces.ts'
import { Frame } from './frame/frame.tsx'
import type { Crumb } from './frame/top-bar.tsx'
import { searchParams } from './search-params.ts'

// The server sends paths under `/app` in `run_app_url`, `workspace_app_url` and so on. Each page is a lazy chunk.
const root = createRootRoute({ component: Outlet })

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/app' })
  },
})
const signIn = createRoute({
  getParentRoute: () => root,
  path: '/app/sign-in',
  validateSearch: searchParams({ next: 'text' }),
  component: lazyRouteComponent(async () => import('./features/session/sign-in-page.tsx'), 'SignInPage'),
})
const frame = createRoute({ getParentRoute: () => root, id: 'frame', component: Frame })

const organizations = createRoute({
  getParentRoute: () => frame,
  path: '/app',
  validateSearch: searchParams({ all: 'flag', new: 'flag' }),
  staticData: { crumbs: () => [{ text: 'Organizations' }] },
  component: lazyRouteComponent(
    async () => import('./features/organizations/organizations-page.tsx'),
    'OrganizationsPage',
  ),
})
const tokens = createRoute({
  getParentRoute: () => frame,
  path: '/app/settings/tokens',
  validateSearch: searchParams({ page: 'number' }),
  staticData: { crumbs: () => [{ text: 'API tokens' }] },
  component: lazyRouteComponent(async () => import('./features/tokens/tokens-page.tsx'), 'TokensPage'),
})
const account = createRoute({
  getParentRoute: () => frame,
  path: '/app/settings/account',
  staticData: { crumbs: () => [{ text: 'Account' }] },
  component: lazyRouteComponent(async () => import('./features/account/account-page.tsx'), 'AccountPage'),
})
const organization = createRoute({
  getParentRoute: () => frame,
  path: '/app/$organization',
  component: lazyRouteComponent(
    async () => import('./features/organizations/organization-frame.tsx'),
    'OrganizationFrame',
  ),
})
const overview = createRoute({
  getParentRoute: () => organization,
  path: '/',
  staticData: { crumbs: () => [{ text: 'Overview' }] },
  component: lazyRouteComponent(async () => import('./features/overview/overview-page.tsx'), 'OverviewPage'),
})
const workspaces = createRoute({
  getParentRoute: () => organization,
  path: 'workspaces',
  validateSearch: searchParams({ ...WORKSPACE_FILTERS, sort: WORKSPACE_SORTS, page: 'number', new: 'flag' }),
  staticData: { crumbs: () => [{ text: 'Workspaces' }] },
  component: lazyRouteComponent(async () => import('./features/workspaces/workspaces-page.tsx'), 'WorkspacesPage'),
})
const runs = createRoute({
  getParentRoute: () => organization,
  path: 'runs',
  validateSearch: searchParams({ ...RUN_FILTERS, page: 'number' }),
  staticData: { crumbs: () => [{ text: 'Runs' }] },
  component: lazyRouteComponent(async () => import('./features/runs/list/runs-page.tsx'), 'RunsPage'),
})
const runById = createRoute({
  getParentRoute: () => organization,
  path: 'runs/$run',
  staticData: { crumbs: ({ run = '' }) => [{ text: 'Runs' }, { text: run }] },
  component: lazyRouteComponent(async () => import('./features/runs/page/run-page.tsx'), 'RunByIdPage'),
})

const workspace = createRoute({
  getParentRoute: () => organization,
  path: 'workspaces/$workspace',
  validateSearch: searchParams({ start: 'flag' }),
  staticData: { crumbs: workspaceCrumbs() },
  component: lazyRouteComponent(async () => import('./features/workspaces/workspace-frame.tsx'), 'WorkspaceFrame'),
})
const workspaceOverview = createRoute({
  getParentRoute: () => workspace,
  path: '/',
  staticData: { crumbs: workspaceCrumbs() },
  validateSearch: searchParams({ q: 'text', module: 'text', type: 'text', page: 'number' }),
  component: lazyRouteComponent(async () => import('./features/workspaces/overview-tab.tsx'), 'OverviewTab'),
})
/** Options of a tab of a workspace, with the export `name` of a lazy chunk. */
function tab<const Path extends string, Module extends Record<Name, () => ReactNode>, Name extends string>(
  path: Path,
  load: () => Promise<Module>,
  name: Name,
) {
  const crumbs = workspaceCrumbs(capitalized(path))
  return { getParentRoute: () => workspace, path, staticData: { crumbs }, component: lazyRouteComponent(load, name) }
}
const workspaceRuns = createRoute({
  ...tab('runs', async () => import('./features/runs/list/runs-page.tsx'), 'RunsTab'),
  validateSearch: searchParams({ ...RUN_FILTERS, page: 'number' }),
})
const workspaceStates = createRoute({
  ...tab('states', async () => import('./features/states/states-tab.tsx'), 'StatesTab'),
  /** `version` is the open version; `from` and `to` are the pins of a diff. */
  validateSearch: searchParams({ version: 'text', show: 'text', from: 'text', to: 'text', q: 'text', page: 'number' }),
})
const workspaceVariables = createRoute({
  ...tab('variables', async () => import('./features/variables/variables-tab.tsx'), 'VariablesTab'),
  validateSearch: searchParams({ q: 'text', edit: 'text' }),
})
const workspaceTasks = createRoute(tab('tasks', async () => import('./features/run-tasks/tasks-tab.tsx'), 'TasksTab'))
const workspaceTriggers = createRoute(
  tab('triggers', async () => import('./features/run-triggers/triggers-tab.tsx'), 'TriggersTab'),
)
const workspaceAccess = createRoute(
  tab('access', async () => import('./features/team-access/access-tab.tsx'), 'AccessTab'),
)
const workspaceSettings = createRoute(
  tab('settings', async () => import('./features/workspaces/settings-tab.tsx'), 'SettingsTab'),
)
const run = createRoute({
  getParentRoute: () => organization,
  path: 'workspaces/$workspace/runs/$run',
  /** `part` is the open tab: changes, log, tasks or timeline; `only` filters changes, `find` searches the log. */
  validateSearch: searchParams({ part: 'text', phase: 'text', line: 'number', q: 'text', only: 'text', find: 'text' }),
  staticData: { crumbs: (params) => [...workspaceCrumbs('Runs')(params), { text: params['run'] ?? '' }] },
  component: lazyRouteComponent(async () => import('./features/runs/page/run-page.tsx'), 'RunPage'),
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

function workspaceCrumbs(tabName?: string) {
  return ({ organization: name = '', workspace: text = '' }: Record<string, string>): readonly Crumb[] => {
    const params = { organization: name, workspace: text }
    const to = '/app/$organization/workspaces/$workspace'
    return [
      { text: 'Workspaces', link: { to: '/app/$organization/workspaces', params } },
      { text, link: { to, params } },
      ...(tabName === undefined ? [] : [{ text: tabName, link: { to: `${to}/${tabName.toLowerCase()}`, params } }]),
    ]
  }
}

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    signIn,
    frame.addChildren([
      organizations,
      account,
      tokens,
      organization.addChildren([
        overview,
        workspaces,
        runs,
        runById,
        workspace.addChildren([
          workspaceOverview,
          workspaceRuns,
          workspaceStates,
          workspaceVariables,
          workspaceTasks,
          workspaceTriggers,
          workspaceAccess,
          workspaceSettings,
        ]),
        run,
        shortWorkspace,
        shortRun,
      ]),
    ]),
  ]),
  basepath: BASE,
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultPendingComponent: Skeleton,
  defaultNotFoundComponent: () => <NotFoundPage />,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
