import { createRoute, createRouter } from '@tanstack/react-router'
import { BASE } from './api/base.ts'
import { FailedPage } from './components/failed-page.tsx'
import { NotFoundPage, Skeleton } from './components/feedback.tsx'
import { organization, organizationPages } from './routes/organization.ts'
import { page } from './routes/page.ts'
import { frame, publicRoutes, root } from './routes/root.ts'
import { accountSettings, administration, organizationSettings } from './routes/settings.ts'
import { run, workspacePages } from './routes/workspace.ts'
import { searchParams } from './search-params.ts'

const organizations = createRoute({
  getParentRoute: () => frame,
  path: '/app',
  validateSearch: searchParams({ all: 'flag', new: 'flag' }),
  ...page(async () => import('./features/organizations/organizations-page.tsx'), 'OrganizationsPage'),
})

/** The server sends paths under `/app` in `run_app_url`, `workspace_app_url` and so on. Each page is a lazy chunk. */
export const router = createRouter({
  routeTree: root.addChildren([
    ...publicRoutes,
    frame.addChildren([
      organizations,
      accountSettings,
      administration,
      organization.addChildren([...organizationPages, workspacePages, run, organizationSettings]),
    ]),
  ]),
  basepath: BASE,
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultPendingComponent: Skeleton,
  defaultNotFoundComponent: () => <NotFoundPage />,
  defaultErrorComponent: FailedPage,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
