import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { planCounts, planHasChanges } from './plan-json.ts'

const plan = (name: string): any =>
  JSON.parse(readFileSync(new URL(`./testdata/${name}.json`, import.meta.url), 'utf8'))
const { applyable: _, ...withoutResponse } = plan('none')
const resource = (actions: string[], more: object = {}) => ({
  address: 'a.b',
  mode: 'managed',
  change: { actions },
  ...more,
})

describe('planCounts', () => {
  test.each([
    ['create', { additions: 8, changes: 0, destructions: 0, imports: 0 }],
    // The engine's own summary: 1 to import, 1 to add, 2 to change, 2 to destroy.
    ['update', { additions: 1, changes: 2, destructions: 2, imports: 1 }],
    ['none', { additions: 0, changes: 0, destructions: 0, imports: 0 }],
  ])('of the plan "%s" are those of the engine', (name, counts) => {
    expect(planCounts(plan(name))).toEqual(counts)
  })

  test('a replacement that forgets counts as an addition without a destruction; forgetting is not counted', () => {
    const counts = planCounts({ resource_changes: [resource(['create', 'forget']), resource(['forget'])] })

    expect(counts).toEqual({ additions: 1, changes: 0, destructions: 0, imports: 0 })
  })

  test('a data source that is read or removed from the state is not counted', () => {
    const data = [resource(['read'], { mode: 'data' }), resource(['delete'], { mode: 'data' })]

    expect(planCounts({ resource_changes: data })).toEqual({ additions: 0, changes: 0, destructions: 0, imports: 0 })
  })

  test.each([
    [undefined],
    [null],
    ['text'],
    [{ resource_changes: {} }],
    [{ resource_changes: [null, 1, { change: [] }] }],
  ])('%j has none', (document) => {
    expect(planCounts(document)).toEqual({ additions: 0, changes: 0, destructions: 0, imports: 0 })
    expect(planHasChanges(document)).toBe(false)
  })
})

describe('planHasChanges', () => {
  test.each([
    ['create', true],
    ['update', true],
    ['none', false],
  ])("the engine's own verdict about the plan '%s' takes precedence", (name, response) => {
    expect(planHasChanges(plan(name))).toBe(response)
    expect(planHasChanges({ ...plan(name), applyable: !response })).toBe(!response)
  })

  test.each([
    ['create', true],
    ['update', true],
    ['none', false],
  ])("without a verdict of the engine, the plan '%s' has the same result", (name, response) => {
    const { applyable: _, ...rest } = plan(name)

    expect(planHasChanges(rest)).toBe(response)
  })

  test.each([
    ['an output', { output_changes: { o: { actions: ['update'] } } }],
    ['a move', { resource_changes: [resource(['no-op'], { previous_address: 'a.c' })] }],
    ['an import', { resource_changes: [{ address: 'a.b', change: { actions: ['no-op'], importing: { id: 'x' } } }] }],
    ['a data source that is read', { resource_changes: [resource(['read'], { mode: 'data' })] }],
    ['an object to forget', { resource_changes: [resource(['forget'])] }],
    ['the drift of a refresh-only plan', { resource_changes: [], resource_drift: [resource(['update'])] }],
  ])('%s alone is a change', (_what, document) => {
    expect(planHasChanges({ ...withoutResponse, ...document })).toBe(true)
  })

  test('unchanged resources are no drift', () => {
    expect(planHasChanges({ ...withoutResponse, resource_drift: [resource(['update'])] })).toBe(false)
  })

  test('a failed plan has none', () => {
    expect(planHasChanges({ errored: true, resource_changes: [resource(['create'])] })).toBe(false)
  })
})
