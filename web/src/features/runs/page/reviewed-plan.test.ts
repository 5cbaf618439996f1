import { expect, test } from 'vitest'
import { differenceText } from './reviewed-plan.tsx'

const difference = { address: 'terraform_data.a', 'reviewed-actions': ['update'], 'planned-actions': ['update'] }

test.each([
  [{ ...difference, kind: 'added' as const, 'reviewed-actions': [] }, 'update, which the pull request did not show'],
  [{ ...difference, kind: 'removed' as const, 'planned-actions': [] }, 'no change; the pull request showed update'],
  [{ ...difference, kind: 'changed' as const }, 'update, with other values'],
  [
    { ...difference, kind: 'changed' as const, 'planned-actions': ['delete', 'create'] },
    'replace; the pull request showed update',
  ],
])('a difference is described in words', (given, text) => {
  expect(differenceText(given)).toBe(text)
})
