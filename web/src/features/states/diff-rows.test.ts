import { expect, test } from 'vitest'
import { attributeChanges, type ChangedResource, diffRows, sameness } from './diff-rows.ts'

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
  return diffRows(RESOURCES, filter).map((row) => (row.kind === 'module' ? `${row.module}:` : row.resource.address))
}

test('resources stand below their modules, the root module first', () => {
  expect(addresses({ q: '', action: undefined })).toEqual([
    'root:',
    't.b',
    'module.net:',
    'module.net.t.a',
    'module.net.t.c',
  ])
})

test('a search finds addresses and attributes, and a module without a match is left out', () => {
  expect(addresses({ q: 'T.B', action: undefined })).toEqual(['root:', 't.b'])
  expect(addresses({ q: 'tags', action: 'removed' })).toEqual(['module.net:', 'module.net.t.c'])
  expect(addresses({ q: 'nothing', action: undefined })).toEqual([])
})

test('a text that became a number is told from it by its quotes', () => {
  const [change] = attributeChanges([{ path: 'port', action: 'changed', sensitive: false, before: '80', after: 80 }])

  expect([change?.before, change?.after]).toEqual([
    { kind: 'value', text: '"80"' },
    { kind: 'value', text: '80' },
  ])
})

test('a sensitive value is shown on neither side, and an added one has no side before', () => {
  const changes = attributeChanges([
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

test('states that differ in their head alone are said to', () => {
  expect(sameness(diff({ serial: 2 }))).toContain('only the serial differs')
  expect(sameness(diff({ serial: 2, lineage: 'm' }))).toContain('only the serial and the lineage differ')
  expect(sameness(diff({}))).toBe('Both states have the same resources and outputs.')
  expect(sameness(diff({ serial: 2 }, { ...NONE, added: 1 }))).toBeUndefined()
})
