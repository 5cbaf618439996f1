import { expect, test } from 'vitest'
import type { HostEvent } from '../../../vcs-hosts/host.ts'
import { decideModule, decidePolicySet, filesRefusal, taggedVersion } from './decide-publication.ts'

const SENDER = { username: 'mona', avatarUrl: '', pageUrl: '' }
const COMMIT = { sha: 'a'.repeat(40), message: '', url: '' }
const tag = (name: string, commit: typeof COMMIT | null = COMMIT): HostEvent => ({
  kind: 'tag',
  tag: name,
  commit,
  sender: SENDER,
})
const push = (branch: string, commit: typeof COMMIT | null = COMMIT): HostEvent => ({
  kind: 'push',
  branch,
  before: null,
  commit,
  compareUrl: '',
  sender: SENDER,
  changedFiles: null,
})

test.each([
  ['v1.2.3', '', '1.2.3'],
  ['1.2.3', '', '1.2.3'],
  ['v1.2.3-beta.1+5', '', '1.2.3-beta.1+5'],
  ['vpc-v1.2.3', 'vpc-', '1.2.3'],
  ['vpc/1.2.3', 'vpc/', '1.2.3'],
  ['vpc-v1.2.3', 'vpc-v', '1.2.3'],
  ['vpc-v1.2.3', '', undefined],
  ['v1.2.3', 'vpc-', undefined],
  ['v1.2', '', undefined],
  ['vv1.2.3', '', undefined],
  ['v01.2.3', '', undefined],
  ['release', '', undefined],
])('the tag %s with the prefix "%s" is the version %s', (name, prefix, version) => {
  expect(taggedVersion(name, prefix)).toBe(version)
})

test('tags publish a module, and other events say why not', () => {
  const rule = { tags: true, branch: null, tagPrefix: '' }

  expect(decideModule(rule, tag('v1.0.0'))).toMatchObject({ publish: { version: '1.0.0', ref: 'refs/tags/v1.0.0' } })
  expect(decideModule(rule, tag('v1.0.0', null))).toEqual({ reason: 'tag-deleted', detail: null })
  expect(decideModule(rule, tag('latest'))).toEqual({ reason: 'no-version', detail: '1.2.0 or v1.2.0' })
  expect(decideModule(rule, push('main'))).toEqual({ reason: 'publishes-tags', detail: null })
  expect(decideModule({ ...rule, tags: false, branch: 'main' }, tag('v1.0.0')).reason).toBe('publishes-commits')
})

const SET = { branch: 'main', policiesPath: '', updatePatterns: [] }

test('pushes to its branch publish a policy set', () => {
  expect(decidePolicySet(SET, push('main'))).toMatchObject({ publish: { commit: COMMIT, ref: 'refs/heads/main' } })
  expect(decidePolicySet(SET, push('next'))).toEqual({ reason: 'other-branch', detail: 'main' })
  expect(decidePolicySet(SET, push('main', null)).reason).toBe('branch-deleted')
  expect(decidePolicySet(SET, tag('v1.0.0')).reason).toBe('no-tags')
})

test('only changes to its files concern a policy set', () => {
  const inPath = { ...SET, policiesPath: 'policies/[aws]' }
  const patterns = { ...inPath, updatePatterns: ['/lib/**/*.rego'] }
  const many = Array.from({ length: 300 }, (_, n) => `docs/${n}`)

  expect(filesRefusal(SET, ['README.md'])).toBeUndefined()
  expect(filesRefusal(inPath, ['policies/[aws]/a.rego'])).toBeUndefined()
  expect(filesRefusal(inPath, ['policies/a/a.rego', 'README.md'])?.reason).toBe('no-matching-files')
  expect(filesRefusal(patterns, ['lib/x/a.rego'])).toBeUndefined()
  expect(filesRefusal(patterns, ['policies/[aws]/a.rego'])?.detail).toBe('/lib/**/*.rego')
  expect(filesRefusal(inPath, null)).toBeUndefined()
  expect(filesRefusal(inPath, many)).toBeUndefined()
})
