import { createRootRoute, createRoute, lazyRouteComponent, Outlet, redirect } from '@tanstack/react-router'
import { Frame } from '../frame/frame.tsx'
import { searchParams } from '../search-params.ts'
import { page } from './page.ts'

export const root = createRootRoute({ component: Outlet })

/** Layout of the pages for signed-in users. */
export const frame = createRoute({ getParentRoute: () => root, id: 'frame', component: Frame })

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
  validateSearch: searchParams({ next: 'text', forgot: 'flag' }),
  ...page(async () => import('../features/session/sign-in-page.tsx'), 'SignInPage'),
})
// The secrets of both links are in the fragment, which reaches neither the server's log nor that of a proxy.
const invitation = createRoute({
  getParentRoute: () => root,
  path: '/app/invitation',
  ...page(async () => import('../features/session/invitation-page.tsx'), 'InvitationPage'),
})
const resetPassword = createRoute({
  getParentRoute: () => root,
  path: '/app/reset-password',
  ...page(async () => import('../features/session/reset-password-page.tsx'), 'ResetPasswordPage'),
})
const documentation = createRoute({
  getParentRoute: () => root,
  path: '/docs',
  ...page(async () => import('../frame/documentation-frame.tsx'), 'DocumentationFrame'),
  notFoundComponent: lazyRouteComponent(
    async () => import('../features/documentation/document-page.tsx'),
    'DocumentNotFoundPage',
  ),
})
const documentationIndex = createRoute({
  getParentRoute: () => documentation,
  path: '/',
  validateSearch: searchParams({ q: 'text' }),
  ...page(async () => import('../features/documentation/document-page.tsx'), 'DocumentationIndexPage'),
})
const document = createRoute({
  getParentRoute: () => documentation,
  path: '$page',
  ...page(async () => import('../features/documentation/document-page.tsx'), 'DocumentPage'),
})
const apiReference = createRoute({
  getParentRoute: () => documentation,
  path: 'api',
  validateSearch: searchParams({ operations: 'text' }),
  ...page(async () => import('../features/documentation/api-reference-page.tsx'), 'ApiReferencePage'),
})
const apiTag = createRoute({
  getParentRoute: () => documentation,
  path: 'api/$tag',
  ...page(async () => import('../features/documentation/api-reference-page.tsx'), 'ApiTagPage'),
})

export const publicRoutes = [
  home,
  signIn,
  invitation,
  resetPassword,
  documentation.addChildren([documentationIndex, document, apiReference, apiTag]),
] as const
