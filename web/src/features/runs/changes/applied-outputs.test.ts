import { describe, expect, test } from 'vitest'
import type { Side } from '../../../components/attribute-diff.tsx'
import { outputChanges } from './applied-outputs.ts'
import type { PlannedChange } from './attribute-changes.ts'
import { planModel } from './plan-model.ts'
import { unknownWords } from './unknown-words.ts'

const UNKNOWN: PlannedChange = { actions: ['update'], before: 'old', after_unknown: true }

function changesOf(change: PlannedChange, stored?: { value: unknown; sensitive?: boolean }) {
  const { outputs } = planModel({ output_changes: { out: change } })
  const { value = null, sensitive = false } = stored ?? {}
  const attributes = { name: 'out', sensitive, value, type: 'string', 'detailed-type': 'string' as const }
  const output = { id: 'wsout-1', type: 'state-version-outputs' as const, attributes, links: { self: '' } }
  return outputChanges(outputs, stored && [output])
}
const after = (changes: readonly { after: Side }[]) => changes.map((change) => change.after)

describe('an output that the plan did not know', () => {
  test('has the value that the apply has stored', () => {
    expect(changesOf(UNKNOWN, { value: 'new' })).toMatchObject([
      { path: 'out', before: { text: 'old' }, after: { kind: 'value', text: 'new' } },
    ])
  })

  test('is shown with its parts when it was known in part', () => {
    const change: PlannedChange = { actions: ['create'], after: { a: 'x' }, after_unknown: { b: true } }

    const changes = changesOf(change, { value: { a: 'x', b: 'y' } })

    expect(changes.map(({ path }) => path)).toEqual(['out.a', 'out.b'])
    expect(after(changes)).toMatchObject([{ text: 'x' }, { text: 'y' }])
  })

  test('is shown too when it has stayed as it was', () => {
    expect(changesOf(UNKNOWN, { value: 'old' })).toMatchObject([{ before: { text: 'old' }, after: { text: 'old' } }])
  })

  test('stays withheld when it is sensitive', () => {
    const change = { ...UNKNOWN, after_sensitive: true }

    expect(after(changesOf(change, { value: null, sensitive: true }))).toEqual([{ kind: 'sensitive' }])
  })

  test('stays unknown while nothing is stored', () => {
    expect(after(changesOf(UNKNOWN))).toEqual([{ kind: 'unknown' }])
  })
})

test('an output that the plan knew shows what was planned', () => {
  const changes = changesOf({ actions: ['update'], before: 'old', after: 'new' }, { value: 'another' })

  expect(after(changes)).toMatchObject([{ text: 'new' }])
})

test.each([
  [undefined, 'known after apply'],
  ['running', 'known after apply'],
  ['done', 'set by the apply'],
  ['left', 'not known: it was not applied'],
] as const)('a value that the plan does not know is, of a resource that is %s, %s', (state, words) => {
  expect(unknownWords(state)).toBe(words)
})
