import { createMemoryHistory, createRootRoute, createRoute, createRouter } from '@tanstack/react-router'
import { expect, test } from 'vitest'
import { searchParams } from './search-params.ts'

const read = searchParams({ q: 'text', page: 'number', new: 'flag', kind: ['plan', 'apply'] })

test.each([
  { search: { q: 'kafka', page: 2, new: true }, is: { q: 'kafka', page: 2, new: true } },
  { search: { q: 123, page: '3', new: 'true' }, is: { q: '123', page: 3, new: true } },
  { search: { q: '', page: 'x', new: false, other: 1 }, is: {} },
  { search: { q: { a: 1 }, page: -1 }, is: {} },
  { search: { kind: 'plan,apply' }, is: { kind: 'plan,apply' } },
  { search: { kind: 'frob,apply' }, is: { kind: 'apply' } },
  { search: { kind: 'frob' }, is: {} },
  { search: { page: 1e300 }, is: {} },
])('$search is read as $is', ({ search, is }) => {
  expect(read(search)).toEqual(is)
})

test('a page gets no invalid parameter of its address', async () => {
  const root = createRootRoute()
  const list = createRoute({ getParentRoute: () => root, path: '/list', validateSearch: read })
  const router = createRouter({ routeTree: root.addChildren([list]), history: createMemoryHistory() })

  const matches = router.matchRoutes('/list', { page: 'zzz', q: 'kafka', new: 'maybe' })

  expect(matches.at(-1)?.search).toEqual({ q: 'kafka' })
})
