import { expect, test } from 'vitest'
import { router } from './router.tsx'

test.each([
  {
    path: '/app/acme/runs',
    search: { source: 'frob', status: 'errored,frob', operation: 'frob' },
    is: { status: 'errored' },
  },
  { path: '/app/acme/workspaces/web/runs', search: { source: 'web,api' }, is: { source: 'web,api' } },
  {
    path: '/app/acme/workspaces',
    search: { status: 'none,frob', locked: 'yes', drifted: 'true', sort: 'frob' },
    is: { status: 'none', drifted: 'true' },
  },
  { path: '/app/acme/workspaces', search: { sort: '-latest-change-at' }, is: { sort: '-latest-change-at' } },
])('$path reads $search as $is', ({ path, search, is }) => {
  expect(router.matchRoutes(path, search).at(-1)?.search).toEqual(is)
})
