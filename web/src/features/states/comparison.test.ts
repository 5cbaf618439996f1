import { expect, test } from 'vitest'
import { type ChangedResource, stateAttributeChanges, diffRows, equalityText } from './comparison.tsx'

function changed(address: string, module: string, action: ChangedResource['action'] = 'changed'): ChangedResource {
  const attributes = [{ path: 'tags.Name', action, sensitive: false, before: 'a', after: 'b' }]
  return { address, module, type: 't', name: 'n', action, attributes }
}

const RESOURCES = [
  changed('module.net.t.a', 'module.net'),
  changed('t.b', 'root', 'added'),
  changed('module.net.t.c', 'module.net', 'removed'),
]

function addresses(filter: Parameters<typeof diffRows>[1]) {
  return diffRows(RESOURCES, filter).map((row) => (row.kind === 'module' ? `${row.module}:` : row.item.address))
}

test('resources are listed by module, the root module first', () => {
  expect(addresses({ q: '', action: undefined })).toEqual([
    'root:',
    't.b',
    'module.net:',
    'module.net.t.a',
    'module.net.t.c',
  ])
})

test('a search matches addresses and attributes, and omits modules without a match', () => {
  expect(addresses({ q: 'T.B', action: undefined })).toEqual(['root:', 't.b'])
  expect(addresses({ q: 'tags', action: 'removed' })).toEqual(['module.net:', 'module.net.t.c'])
  expect(addresses({ q: 'nothing', action: undefined })).toEqual([])
})

test('a string that becomes a number has quotes', () => {
  const [change] = stateAttributeChanges([
    { path: 'port', action: 'changed', sensitive: false, before: '80', after: 80 },
  ])

  expect([change?.before, change?.after]).toEqual([
    { kind: 'value', text: '"80"' },
    { kind: 'value', text: '80' },
  ])
})

test('sensitive values are masked, and added ones have no value before', () => {
  const changes = stateAttributeChanges([
    { path: 'secret', action: 'changed', sensitive: true },
    { path: 'key', action: 'added', sensitive: true },
  ])

  expect(changes.map(({ before, after }) => [before.kind, after.kind])).toEqual([
    ['sensitive', 'sensitive'],
    ['absent', 'sensitive'],
  ])
})

const NONE = { added: 0, changed: 0, removed: 0 }
const SUMMARY = { serial: 1, lineage: 'l', 'engine-version': '1.11.4' }

function diff(to: Partial<typeof SUMMARY>, outputs = NONE) {
  const counts = { resources: NONE, outputs }
  return { from: SUMMARY, to: { ...SUMMARY, ...to }, counts, resources: [], outputs: [], truncated: false }
}

test('states with the same resources and outputs list their other differences', () => {
  expect(equalityText(diff({ serial: 2 }))).toContain('Only these differ: serial.')
  expect(equalityText(diff({ serial: 2, lineage: 'm' }))).toContain('Only these differ: serial, lineage.')
  expect(equalityText(diff({}))).toBe('Both states have the same resources and outputs.')
  expect(equalityText(diff({ serial: 2 }, { ...NONE, added: 1 }))).toBeUndefined()
})
