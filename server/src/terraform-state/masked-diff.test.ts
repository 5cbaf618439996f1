import { expect, test } from 'vitest'
import { shortened } from './attribute-diff.ts'
import { digestsOf, knownValues } from './known-values.ts'
import { maskedDiff } from './masked-diff.ts'
import { diffStates } from './state-diff.ts'

const KEY = 'key'
const LONG = `-----BEGIN-----${'x'.repeat(4000)}`
const CURRENT = knownValues([{ value: 'sword "fish"', hcl: false }], { key: KEY, digests: [] })
const FORMER = knownValues([], { key: KEY, digests: digestsOf(['sword "fish"', LONG], KEY) })
const EMPTY = { version: 4, serial: 1, lineage: 'l', outputs: {}, resources: [] }

/** A change to `value` as a client sees it. */
function shown(value: unknown, known = CURRENT, paths = ['a']) {
  const change = { action: 'added' as const, sensitive: false, before: null, after: shortened(value) }
  const attributes = paths.map((path) => ({ path, ...change }))
  const output = { name: 'o', action: 'added' as const, sensitive: false, attributes }
  if (!known) throw new Error('there are known values')
  return maskedDiff({ ...diffStates(EMPTY, EMPTY), outputs: [output] }, known).outputs[0]?.attributes
}

test.each([
  ['as a whole', 'sword "fish"'],
  ['in a list', ['one', 'sword "fish"']],
  ['in a long list', ['sword "fish"', 'x'.repeat(3000)]],
  ['that is cut off', ['x'.repeat(2035), 'sword "fish"']],
])('a sensitive value %s is masked', (_, value) => {
  expect(shown(value)).toEqual([{ path: 'a', action: 'added', sensitive: true }])
})

test.each([['a sword "fish"'], [['sword', 'x'.repeat(3000)]], [['x'.repeat(2035), 'sward']]])(
  '%j is shown',
  (value) => {
    expect(shown(value)).toMatchObject([{ sensitive: false, after: shortened(value) }])
  },
)

test.each([['sword "fish"'], [['one', 'sword "fish"']], [{ 'sword "fish"': 1 }], [LONG]])(
  'a former value in %j is masked',
  (value) => {
    expect(shown(value, FORMER)).toEqual([{ path: 'a', action: 'added', sensitive: true }])
  },
)

test('the cut-off text of a list, which may begin a former value, is not shown', () => {
  expect(shown(['x'.repeat(2035), 'sword "fish"'], FORMER)).toMatchObject([{ after: `["${'x'.repeat(2035)}","…` }])
  // Within an escape sequence.
  expect(shown(['x'.repeat(2042), '"sword'], FORMER)).toMatchObject([{ after: `["${'x'.repeat(2042)}","…` }])
})

test('changes of an object with a sensitive key are one change of the object', () => {
  const paths = ['a', 'tags["sword \\"fish\\""].b', 'tags["sword \\"fish\\""].c']

  expect(shown('x', FORMER, paths)).toMatchObject([
    { path: 'a', sensitive: false },
    { path: 'tags', action: 'added', sensitive: true },
  ])
  expect(JSON.stringify(shown('x', FORMER, paths))).not.toContain('sword')
})
