import { expect, test } from 'vitest'
import { signInTarget } from './session.ts'

test('sign-in returns to the page that required it', () => {
  expect(signInTarget('/app/main/workspaces?q=kafka#top')).toBe('/app/main/workspaces?q=kafka#top')
})

test('sign-in opens the home page by default', () => {
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
