import { sensitiveTexts } from '@groundstate/contract/sensitive-values'
import { expect, test } from 'vitest'
import { shortened } from './attribute-diff.ts'
import { maskedDiff } from './masked-diff.ts'
import { diffStates } from './state-diff.ts'

const TEXTS = sensitiveTexts([{ value: 'sword "fish"', hcl: false }])
const EMPTY = { version: 4, serial: 1, lineage: 'l', outputs: {}, resources: [] }

/** A change to `value` as a client sees it. */
function shown(value: unknown) {
  const change = { path: 'a', action: 'added' as const, sensitive: false, before: null, after: shortened(value) }
  const output = { name: 'o', action: 'added' as const, sensitive: false, attributes: [change] }
  return maskedDiff({ ...diffStates(EMPTY, EMPTY), outputs: [output] }, TEXTS).outputs[0]?.attributes[0]
}

test.each([
  ['as a whole', 'sword "fish"'],
  ['in a list', ['one', 'sword "fish"']],
  ['in a long list', ['sword "fish"', 'x'.repeat(3000)]],
  ['that is cut off', ['x'.repeat(2035), 'sword "fish"']],
])('a sensitive value %s is masked', (_, value) => {
  expect(shown(value)).toEqual({ path: 'a', action: 'added', sensitive: true })
})

test.each([['a sword "fish"'], [['sword', 'x'.repeat(3000)]], [['x'.repeat(2035), 'sward']]])(
  '%j is shown',
  (value) => {
    expect(shown(value)).toMatchObject({ sensitive: false, after: shortened(value) })
  },
)
