import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { diffStates } from './state-diff.ts'

const testdata = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`./testdata/${name}.json`, import.meta.url), 'utf8'))

type Instance = { attributes?: unknown; sensitive_attributes?: unknown; status?: string; index_key?: unknown }
const resource = (instance: Instance, more: object = {}) => ({
  mode: 'managed',
  type: 'aws_db',
  name: 'main',
  provider: 'provider["aws"]',
  instances: [instance],
  ...more,
})
const state = (resources: unknown[], outputs: unknown = {}) => ({
  version: 4,
  serial: 1,
  lineage: 'l',
  resources,
  outputs,
})
const attributesOf = (before: Instance, after: Instance) =>
  diffStates(state([resource(before)]), state([resource(after)])).resources[0]?.attributes ?? []
const path = (...keys: string[]) => keys.map((value) => ({ type: 'get_attr', value }))

describe('diffStates of two states of terraform', () => {
  const diff = diffStates(testdata('state-1'), testdata('state-2'))

  test('resources are added, changed and removed by address', () => {
    expect(diff.resources.map(({ address, action }) => [address, action])).toEqual([
      ['data.terraform_remote_state.late', 'added'],
      ['terraform_data.counted[0]', 'changed'],
      ['terraform_data.counted[1]', 'changed'],
      ['terraform_data.gone', 'removed'],
      ['terraform_data.imported', 'added'],
      ['terraform_data.new_name', 'added'],
      ['terraform_data.old_name', 'removed'],
      ['terraform_data.whole', 'changed'],
    ])
    expect(diff.counts.resources).toEqual({ added: 3, changed: 3, removed: 2 })
    expect(diff.truncated).toBe(false)
  })

  test('attributes without a static type are typed by their content', () => {
    const counted = diff.resources.find(({ address }) => address === 'terraform_data.counted[1]')

    expect(counted?.attributes).toEqual([
      { path: 'input.n', action: 'changed', sensitive: false, before: 1, after: 2 },
      { path: 'input.password', action: 'changed', sensitive: true },
      { path: 'output.n', action: 'changed', sensitive: false, before: 1, after: 2 },
      { path: 'output.password', action: 'changed', sensitive: true },
    ])
  })

  test('outputs are compared without the values of sensitive ones', () => {
    expect(diff.outputs).toEqual([
      {
        name: 'late',
        action: 'added',
        sensitive: false,
        attributes: [{ path: '', action: 'added', sensitive: false, after: [] }],
      },
      {
        name: 'number',
        action: 'changed',
        sensitive: false,
        attributes: [{ path: '', action: 'changed', sensitive: false, before: 1.5, after: 2.5 }],
      },
      {
        name: 'secret',
        action: 'changed',
        sensitive: true,
        attributes: [{ path: '', action: 'changed', sensitive: true }],
      },
    ])
  })

  test('no secret appears, not even in attributes that the provider does not mark', () => {
    expect(JSON.stringify(diff)).not.toMatch(/secret-value/)
  })

  test('JSON states give the same changes', () => {
    const fromJson = diffStates(testdata('show-1'), testdata('show-2'))

    expect(fromJson.resources).toEqual(diff.resources)
    expect(fromJson.outputs).toEqual(diff.outputs)
    expect(JSON.stringify(fromJson)).not.toMatch(/secret-value/)
  })
})

test('equal states have no difference', () => {
  const diff = diffStates(testdata('state-1'), testdata('state-1'))

  expect(diff).toMatchObject({ resources: [], outputs: [], truncated: false })
})

test('attributes are compared part by part', () => {
  const before = {
    attributes: { id: 'x', tags: { Name: 'a', 'kubernetes.io/x': '1' }, disks: [{ size: 1 }, { size: 2 }], none: null },
  }
  const after = {
    attributes: { id: 'x', tags: { Name: 'b' }, disks: [{ size: 1 }, { size: 3 }, { size: 4 }], zone: null, empty: {} },
  }

  expect(attributesOf(before, after)).toEqual([
    { path: 'tags.Name', action: 'changed', sensitive: false, before: 'a', after: 'b' },
    { path: 'tags["kubernetes.io/x"]', action: 'removed', sensitive: false, before: '1' },
    { path: 'disks[1].size', action: 'changed', sensitive: false, before: 2, after: 3 },
    { path: 'disks[2].size', action: 'added', sensitive: false, after: 4 },
    { path: 'empty', action: 'added', sensitive: false, after: {} },
  ])
})

test('a value is masked where either state marks it', () => {
  const marked = {
    attributes: { a: { b: [1, 'one-secret'] } },
    sensitive_attributes: [[...path('a', 'b'), { type: 'index', value: { value: 1, type: 'number' } }]],
  }
  const unmarked = { attributes: { a: { b: [2, 'other-text'] } } }
  const expected = [
    { path: 'a.b[0]', action: 'changed', sensitive: false, before: 1, after: 2 },
    { path: 'a.b[1]', action: 'changed', sensitive: true },
  ]

  expect(attributesOf(marked, unmarked)).toEqual(expected)
  expect(attributesOf(unmarked, marked)).toEqual(
    expected.map((change) => (change.sensitive ? change : { ...change, before: 2, after: 1 })),
  )
})

test('a sensitive part hides the whole when the shape around it changes', () => {
  const before = { attributes: { a: { b: 'short' } }, sensitive_attributes: [path('a', 'b')] }

  expect(attributesOf(before, { attributes: { a: 'text' } })).toEqual([
    { path: 'a', action: 'changed', sensitive: true },
  ])
})

test('a sensitive element of a set hides the set, since it has no path', () => {
  const step = { type: 'index', value: { value: { x: 's' }, type: ['object', { x: 'string' }] } }
  const before = { attributes: { a: [{ x: 's' }] }, sensitive_attributes: [[...path('a'), step, ...path('x')]] }

  expect(attributesOf(before, { attributes: { a: [{ x: 't' }] } })).toEqual([
    { path: 'a', action: 'changed', sensitive: true },
  ])
})

test('unreadable sensitive paths hide everything', () => {
  const before = { attributes: { a: 1 }, sensitive_attributes: 'what' }

  expect(attributesOf(before, { attributes: { a: 2 } })).toEqual([{ path: '', action: 'changed', sensitive: true }])
})

test('an attribute with fields named value and type keeps them', () => {
  const before = { attributes: { a: { type: 'string', value: 'x' } }, sensitive_attributes: [path('a', 'value')] }

  expect(attributesOf(before, { attributes: { a: { type: 'string', value: 'y' } } })).toMatchObject([
    { sensitive: true },
  ])
})

test('an object that moved to another module is removed and added', () => {
  const instance = { attributes: { id: 'x' } }

  const diff = diffStates(state([resource(instance)]), state([resource(instance, { module: 'module.m[0]' })]))

  expect(diff.resources.map(({ address, module, action }) => [address, module, action])).toEqual([
    ['aws_db.main', 'root', 'removed'],
    ['module.m[0].aws_db.main', 'module.m[0]', 'added'],
  ])
})

test('a tainted object and another provider are changes', () => {
  const before = resource({ attributes: { id: 'x' } })
  const after = resource({ attributes: { id: 'x' }, status: 'tainted' }, { provider: 'provider["other"]' })

  const diff = diffStates(state([before]), state([after]))

  expect(diff.resources).toMatchObject([
    {
      action: 'changed',
      tainted: { before: false, after: true },
      provider: { after: 'provider["other"]' },
      attributes: [],
    },
  ])
})

test('an output that only becomes sensitive is a change without a value', () => {
  const outputs = (sensitive: boolean) => ({ a: { value: 'x', type: 'string', sensitive } })

  const diff = diffStates(state([], outputs(false)), state([], outputs(true)))

  expect(diff.outputs).toEqual([{ name: 'a', action: 'changed', sensitive: true, attributes: [] }])
})

test('a diff is bounded, and its counts are of everything', () => {
  const many = Array.from({ length: 10 }, (_, key) => ({ index_key: key, attributes: { a: 'x'.repeat(5000), b: 2 } }))

  const diff = diffStates(state([]), state([resource({}, { instances: many })]), { changes: 5, entries: 4 })

  expect(diff.truncated).toBe(true)
  expect(diff.counts.resources).toEqual({ added: 10, changed: 0, removed: 0 })
  expect(diff.resources.map(({ attributes }) => attributes.length)).toEqual([2, 2, 1, 0])
  expect(String(diff.resources[0]?.attributes[0]?.after)).toHaveLength(2049)
})

test('a masked value never appears, whatever it is and wherever it is copied', () => {
  const secret = fc.stringMatching(/^[a-z]{12}$/).map((text) => `sensitive-${text}`)
  const plain = fc.dictionary(fc.stringMatching(/^[a-c]{1,2}$/), fc.jsonValue({ maxDepth: 2 }))
  const sides = fc.record({ secret, number: fc.nat(), plain, nested: fc.boolean(), copied: fc.boolean() })
  const instance = (side: { secret: string; number: number; plain: object; nested: boolean; copied: boolean }) => ({
    attributes: {
      ...side.plain,
      password: side.nested
        ? { value: { deep: [side.secret] }, type: ['object', { deep: ['list', 'string'] }] }
        : side.secret,
      list: [{ pin: 1_000_000_000 + side.number }],
      copy: side.copied ? side.secret : null,
    },
    sensitive_attributes: [
      side.nested
        ? [...path('password', 'deep'), { type: 'index', value: { value: 0, type: 'number' } }]
        : path('password'),
      [...path('list'), { type: 'index', value: { value: 0, type: 'number' } }, ...path('pin')],
    ],
  })
  const output = (side: { secret: string }) => ({
    o: { value: { k: side.secret }, type: ['map', 'string'], sensitive: true },
  })
  fc.assert(
    fc.property(sides, sides, (one, other) => {
      const diff = JSON.stringify(
        diffStates(state([resource(instance(one))], output(one)), state([resource(instance(other))], output(other))),
      )

      for (const { secret, number } of [one, other]) {
        expect(diff).not.toContain(secret)
        expect(diff).not.toContain(String(1_000_000_000 + number))
      }
    }),
  )
})
