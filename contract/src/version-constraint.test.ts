import { expect, test } from 'vitest'
import { compareVersions, parseConstraint } from './version-constraint.ts'

test.for([
  ['1.9.8', '1.9.8', true],
  ['= 1.9.8', '1.9.7', false],
  ['1.9', '1.9.0', true],
  ['1.9', '1.9.1', false],
  ['!= 1.9.8', '1.9.7', true],
  ['!= 1.9.8', '1.9.8', false],
  ['> 1.9', '1.9.1', true],
  ['> 1.9.1', '1.9.1', false],
  ['>= 1.9', '1.9.0', true],
  ['>=1.9', '1.8.9', false],
  ['< 2', '1.99.99', true],
  ['<= 1.9.8', '1.9.9', false],
  ['~> 1.9.0', '1.9.11', true],
  ['~> 1.9.0', '1.10.0', false],
  ['~> 1.9.3', '1.9.2', false],
  ['~> 1.9', '1.12.4', true],
  ['~> 1.9', '1.8.9', false],
  ['~> 1.9', '2.0.0', false],
  ['>= 1.8, < 1.10, != 1.9.1', '1.9.2', true],
  ['>= 1.8, < 1.10, != 1.9.1', '1.9.1', false],
  ['>= 1.9', '1.10.0-rc1', false],
  ['>= 1.10.0-alpha1', '1.10.0-rc1', true],
  ['< 1.10.0-rc1', '1.10.0-beta2', true],
  ['~> 1.10.0-rc1', '1.10.3', true],
  ['1.9.8', '1.9.8+ent', true],
] as const)('"%s" and %s: %s', ([constraint, version, met]) => {
  expect(parseConstraint(constraint)?.meets(version)).toBe(met)
})

test.for(['', 'latest', '>=', '1.x', '~> 1.2.3.4', '>= 1.8,', '=> 1.8', '1.9 || 1.10'])(
  '"%s" is no constraint',
  (text) => {
    expect(parseConstraint(text)).toBeUndefined()
  },
)

test('versions are ordered numerically, and a pre-release precedes its release', () => {
  const versions = ['1.10.0', '1.9.8', '1.10.0-rc2', '1.10.0-beta10', '1.10.0-beta9', '0.15.5']

  expect(versions.toSorted(compareVersions)).toEqual([
    '0.15.5',
    '1.9.8',
    '1.10.0-beta9',
    '1.10.0-beta10',
    '1.10.0-rc2',
    '1.10.0',
  ])
})
