import { describe, expect, test } from 'vitest'
import type { Side } from '../../../components/attribute-diff.tsx'
import type { ApplyEvent } from '../log/apply-events.ts'
import { applyProgress, outputChanges, rowProgress, unknownValueText } from './apply-progress.ts'
import type { PlannedChange } from './attribute-changes.ts'
import { planModel } from './plan-model.ts'

const READ_AT = 1_000_000
const CREATE = { kind: 'create', steps: 1, isDeferred: false } as const
const REPLACE = { kind: 'replace', steps: 2, isDeferred: false } as const
const RUNNING = { apply: 'running', hasError: false } as const

function progressOf(...events: (Omit<ApplyEvent, 'address' | 'at'> & { at?: number })[]) {
  return applyProgress(events.map((event) => ({ address: 'a.b', at: READ_AT, ...event }))).get('a.b')
}
const started = { kind: 'started', action: 'create' } as const
const done = { kind: 'done', action: 'create', seconds: 3 } as const

describe('a resource in an apply', () => {
  test('waits until the engine starts it', () => {
    expect(rowProgress(CREATE, undefined, RUNNING)).toEqual({ state: 'waiting' })
  })

  test('is running since the start time in the log', () => {
    expect(rowProgress(CREATE, progressOf({ ...started, at: 5000 }), RUNNING)).toMatchObject({
      state: 'running',
      action: 'create',
      since: 5000,
    })
  })

  test('is running since its elapsed time before the line of text was read', () => {
    const progress = progressOf(started, { kind: 'progress', action: 'create', seconds: 20 })

    expect(rowProgress(CREATE, progress, RUNNING)).toMatchObject({ state: 'running', since: READ_AT - 20_000 })
  })

  test('that is replaced is done after two steps', () => {
    const destroyed = { kind: 'done', action: 'destroy', seconds: 1 } as const

    expect(rowProgress(REPLACE, progressOf(destroyed), RUNNING)).toEqual({ state: 'waiting' })
    expect(rowProgress(REPLACE, progressOf(destroyed, started, done), RUNNING)).toEqual({ state: 'done', seconds: 4 })
  })

  test('has failed if the engine reports it, or a diagnostic names it', () => {
    expect(rowProgress(CREATE, progressOf(started, { kind: 'failed', action: 'create' }), RUNNING)).toEqual({
      state: 'failed',
    })
    expect(rowProgress(CREATE, progressOf(started), { apply: 'stopped', hasError: true })).toEqual({ state: 'failed' })
  })

  test('is skipped if the apply stopped before', () => {
    expect(rowProgress(CREATE, undefined, { apply: 'stopped', hasError: false })).toEqual({ state: 'skipped' })
  })
})

const UNKNOWN: PlannedChange = { actions: ['update'], before: 'old', after_unknown: true }

function changesOf(change: PlannedChange, stored?: { value: unknown; sensitive?: boolean }) {
  const { outputs } = planModel({ output_changes: { out: change } })
  const { value = null, sensitive = false } = stored ?? {}
  const attributes = { name: 'out', sensitive, value, type: 'string', 'detailed-type': 'string' as const }
  const output = { id: 'wsout-1', type: 'state-version-outputs' as const, attributes, links: { self: '' } }
  return outputChanges(outputs, stored && [output])
}
const after = (changes: readonly { after: Side }[]) => changes.map((change) => change.after)

describe('an unknown output', () => {
  test('has the value from the applied state', () => {
    expect(changesOf(UNKNOWN, { value: 'new' })).toMatchObject([
      { path: 'out', before: { text: 'old' }, after: { kind: 'value', text: 'new' } },
    ])
  })

  test('that is partly known has all its members', () => {
    const change: PlannedChange = { actions: ['create'], after: { a: 'x' }, after_unknown: { b: true } }

    const changes = changesOf(change, { value: { a: 'x', b: 'y' } })

    expect(changes.map(({ path }) => path)).toEqual(['out.a', 'out.b'])
    expect(after(changes)).toMatchObject([{ text: 'x' }, { text: 'y' }])
  })

  test('is shown even if unchanged', () => {
    expect(changesOf(UNKNOWN, { value: 'old' })).toMatchObject([{ before: { text: 'old' }, after: { text: 'old' } }])
  })

  test('is masked if sensitive', () => {
    const change = { ...UNKNOWN, after_sensitive: true }

    expect(after(changesOf(change, { value: null, sensitive: true }))).toEqual([{ kind: 'sensitive' }])
  })

  test('remains unknown without an applied state', () => {
    expect(after(changesOf(UNKNOWN))).toEqual([{ kind: 'unknown' }])
  })
})

test('a known output has its planned value', () => {
  const changes = changesOf({ actions: ['update'], before: 'old', after: 'new' }, { value: 'another' })

  expect(after(changes)).toMatchObject([{ text: 'new' }])
})

test.each([
  [undefined, 'known after apply'],
  ['running', 'known after apply'],
  ['done', 'set during apply'],
  ['skipped', 'unknown: not applied'],
] as const)('the text for an unknown value of a %s change is "%s"', (state, text) => {
  expect(unknownValueText(state)).toBe(text)
})
