import { createMemoryHistory, createRootRoute, createRoute, createRouter } from '@tanstack/react-router'
import { expect, test } from 'vitest'
import { isLeavingPage } from './filters.tsx'

test('a page is being left from the start of a navigation until the next page is loaded', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const root = createRootRoute()
  const workspaces = createRoute({ getParentRoute: () => root, path: '/workspaces' })
  const runs = createRoute({ getParentRoute: () => root, path: '/runs', loader: async () => promise })
  const router = createRouter({
    routeTree: root.addChildren([workspaces, runs]),
    history: createMemoryHistory({ initialEntries: ['/workspaces'] }),
    origin: 'http://127.0.0.1',
  })
  await router.load()
  const before = isLeavingPage(router)

  router.history.push('/runs')
  const loading = router.load()
  const during = isLeavingPage(router)
  resolve()
  await loading

  expect([before, during, isLeavingPage(router)]).toEqual([false, true, false])
})
