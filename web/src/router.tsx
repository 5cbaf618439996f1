import { createRootRoute, createRoute, createRouter, Outlet, redirect } from '@tanstack/react-router'
import { NotFound } from './components/feedback.tsx'
import { Layout } from './components/layout.tsx'
import { AccountPage } from './features/account/account-page.tsx'
import { OrganizationsPage } from './features/organizations/organizations-page.tsx'
import { RunPage } from './features/runs/run-page.tsx'
import { SignInPage } from './features/session/sign-in-page.tsx'
import { TokensPage } from './features/tokens/tokens-page.tsx'
import { WorkspacePage } from './features/workspaces/workspace-page.tsx'
import { WorkspacesPage } from './features/workspaces/workspaces-page.tsx'

/** Paths under `/app` are those that the server sends in `run_app_url`, `workspace_app_url` and similar fields. */
const rootRoute = createRootRoute({ component: Outlet })

const home = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/app' })
  },
})

const signIn = createRoute({
  getParentRoute: () => rootRoute,
  path: '/app/sign-in',
  validateSearch: (search): { next?: string } => (typeof search['next'] === 'string' ? { next: search['next'] } : {}),
  component: SignInPage,
})

const app = createRoute({ getParentRoute: () => rootRoute, id: 'app', component: Layout })

const organizations = createRoute({ getParentRoute: () => app, path: '/app', component: OrganizationsPage })
const tokens = createRoute({ getParentRoute: () => app, path: '/app/settings/tokens', component: TokensPage })
const account = createRoute({ getParentRoute: () => app, path: '/app/settings/account', component: AccountPage })
const workspaces = createRoute({
  getParentRoute: () => app,
  path: '/app/$organization/workspaces',
  component: WorkspacesPage,
})
const workspace = createRoute({
  getParentRoute: () => app,
  path: '/app/$organization/workspaces/$workspace',
  component: WorkspacePage,
})
/** Short paths that people type and command lines print. */
const shortOrganization = createRoute({
  getParentRoute: () => app,
  path: '/app/$organization',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/app/$organization/workspaces', params })
  },
})
const shortWorkspace = createRoute({
  getParentRoute: () => app,
  path: '/app/$organization/$workspace',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/app/$organization/workspaces/$workspace', params })
  },
})
/** The path that command lines print for a run. */
const printedRun = createRoute({
  getParentRoute: () => app,
  path: '/app/$organization/$workspace/runs/$run',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/app/$organization/workspaces/$workspace/runs/$run', params })
  },
})
const run = createRoute({
  getParentRoute: () => app,
  path: '/app/$organization/workspaces/$workspace/runs/$run',
  component: RunPage,
})

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    home,
    signIn,
    app.addChildren([
      organizations,
      account,
      tokens,
      workspaces,
      workspace,
      run,
      shortOrganization,
      shortWorkspace,
      printedRun,
    ]),
  ]),
  defaultPreload: 'intent',
  defaultNotFoundComponent: NotFound,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
