import { expect, test } from 'vitest'
import { signInTarget } from './session.ts'

test('a sign-in leads back to the page that asked for it', () => {
  expect(signInTarget('/app/main/workspaces?q=kafka#top')).toBe('/app/main/workspaces?q=kafka#top')
})

test('a sign-in that nothing asked for leads to the first page', () => {
  expect(signInTarget(undefined)).toBe('/app')
})

test.each([
  'https://example.org/app',
  '//example.org',
  '/\\example.org',
  '/\t/example.org',
  '/\n/example.org',
  '/app\\..\\example.org',
  'app',
  '',
])('a sign-in does not lead to %j', (next) => {
  expect(signInTarget(next)).toBe('/app')
})
