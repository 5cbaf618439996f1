import { expect, test } from 'vitest'
import { triggerPattern } from './trigger-pattern.ts'

const PATHS = ['main.tf', 'a/x.tf', 'a/b/c', 'a/b/.c', 'network/x', 'a/network/b/c', 'c/*(1).tf']

test.each([
  ['**', PATHS],
  ['*.tf', ['main.tf']],
  ['/**/*.tf', ['main.tf', 'a/x.tf', 'c/*(1).tf']],
  ['**/network/**/*', ['network/x', 'a/network/b/c']],
  ['a/b/**', ['a/b/c', 'a/b/.c']],
  ['a/b/', ['a/b/c', 'a/b/.c']],
  ['a/*', ['a/x.tf']],
  ['a**f', []],
  ['?/x.tf', ['a/x.tf']],
  ['[a-c]/[!y].tf', ['a/x.tf']],
  ['{main,a/x}.tf', ['main.tf', 'a/x.tf']],
  ['a/{x.tf,b/**}', ['a/x.tf', 'a/b/c', 'a/b/.c']],
  [String.raw`c/\*(1).tf`, ['c/*(1).tf']],
])('%s matches %j', (pattern, expected) => {
  expect(PATHS.filter(triggerPattern(pattern))).toEqual(expected)
})

test.each(['a/{b', 'a/b}', 'a/[b', 'a/b]', '[z-a]'])('%s is refused', (pattern) => {
  expect(() => triggerPattern(pattern)).toThrow(Error)
})

test('a pattern with many wildcards takes linear time', () => {
  const matches = triggerPattern('*a*a*a*a*a*a*a*a*b')

  expect(matches('a'.repeat(4000))).toBe(false)
})
