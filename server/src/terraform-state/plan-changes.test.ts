import { readFileSync } from 'node:fs'
import { parseExact } from '@groundstate/contract/exact-json'
import { expect, test } from 'vitest'
import { planChanges } from './plan-changes.ts'

const recorded = readFileSync(new URL('../../../contract/src/testdata/update.json', import.meta.url), 'utf8')

const UPDATE = {
  address: 'aws_a.b',
  mode: 'managed',
  change: {
    actions: ['update'],
    before: { size: 1, tags: { a: '1', b: '2' } },
    after: { size: 2, tags: { a: '1', b: '2' } },
    after_unknown: { id: true },
    before_sensitive: false,
    after_sensitive: { tags: true },
    replace_paths: [['size'], ['name']],
  },
}

const planOf = (...resources: object[]) => ({ resource_changes: resources })
const changed = (changes: object) => planOf({ ...UPDATE, change: { ...UPDATE.change, ...changes } })
const digestOf = (plan: unknown) => planChanges(plan, 'key').map(({ digest }) => digest)

test('a recorded plan has its changes, without values', () => {
  const changes = planChanges(JSON.parse(recorded), 'key')

  expect(changes.map(({ address }) => address)).toContain('terraform_data.counted[0]')
  expect(changes.map(({ address }) => address)).toContain('output.late')
  expect(JSON.stringify(changes)).not.toMatch(/secret-value|7f015aa3/)
})

test('the order and the time of a document do not matter', () => {
  const { tags, ...rest } = UPDATE.change.before
  const reordered = {
    timestamp: '2026-01-01T00:00:00Z',
    resource_changes: [
      {
        change: {
          ...Object.fromEntries(Object.entries(UPDATE.change).toReversed()),
          before: { tags: { b: tags.b, a: tags.a }, ...rest },
          replace_paths: [['name'], ['size']],
        },
        mode: 'managed',
        address: 'aws_a.b',
        action_reason: 'replace_because_tainted',
      },
    ],
  }

  expect(planChanges(reordered, 'key')).toEqual(planChanges(planOf(UPDATE), 'key'))
})

test.each([
  ['a value', { after: { size: 3, tags: { a: '1', b: '2' } } }],
  ['an earlier value', { before: { size: 0 } }],
  ['an unknown', { after_unknown: {} }],
  ['a sensitive position', { after_sensitive: false }],
  ['a forced replacement', { replace_paths: [['size']] }],
  ['an import', { importing: { id: 'i-1' } }],
  ['an action', { actions: ['delete', 'create'] }],
])('%s changes the digest', (_, changes) => {
  expect(digestOf(changed(changes))).not.toEqual(digestOf(planOf(UPDATE)))
})

test('numbers count with all of their digits', () => {
  const plan = (size: string) =>
    parseExact(JSON.stringify(changed({ after: { size: 0 } })).replace(`"size":0`, `"size":${size}`))

  expect(digestOf(plan('12345678901234567890'))).not.toEqual(digestOf(plan('12345678901234567891')))
})

test('digests depend on the key, so that secrets cannot be guessed from them', () => {
  expect(planChanges(planOf(UPDATE), 'other')).not.toEqual(planChanges(planOf(UPDATE), 'key'))
})

test('moves, imports and deposed objects are changes, and what stays is none', () => {
  const stays = { ...UPDATE, address: 'a.stays', change: { actions: ['no-op'] } }
  const moved = { ...stays, address: 'a.moved', previous_address: 'a.old' }
  const imported = { ...stays, address: 'a.imported', change: { actions: ['no-op'], importing: { id: '1' } } }
  const deposed = { ...stays, address: 'a.deposed', deposed: '0badc0de', change: { actions: ['delete'] } }

  expect(planChanges(planOf(stays, moved, imported, deposed), 'key')).toMatchObject([
    { address: 'a.deposed (0badc0de)', actions: ['delete'] },
    { address: 'a.imported', isImport: true },
    { address: 'a.moved', previousAddress: 'a.old' },
  ])
})

test.each([null, [], 'text', { resource_changes: 'none', output_changes: [1] }, { resource_changes: [null, {}] }])(
  'the document %j has no changes',
  (plan) => {
    expect(planChanges(plan, 'key')).toEqual([])
  },
)
