import { expect, test } from 'vitest'
import { resourceCount } from './workspaces.ts'

test.each([
  { count: 0, is: '0 resources' },
  { count: 1, is: '1 resource' },
  { count: 2, is: '2 resources' },
])('$count is told as $is', ({ count, is }) => {
  expect(resourceCount({ 'resource-count': count })).toBe(is)
})
