import { describe, expect, test } from 'vitest'
import { readPlanSummary } from './summaries.ts'

const of = (text: string) => readPlanSummary(Buffer.from(text))

describe('the summary of a plan', () => {
  test.each([
    ['Plan: 2 to add, 0 to change, 1 to destroy.', [2, 0, 1, 0]],
    ['\u001b[1mPlan:\u001b[0m 1 to import, 2 to add, 3 to change, 4 to destroy.\u001b[0m', [2, 3, 4, 1]],
    ['Plan: 0 to add, 0 to change, 0 to destroy, 1 to forget.', [0, 0, 0, 0]],
  ])('is read from the line %j', (line, [additions, changes, destructions, imports]) => {
    expect(of(`  # a.b\n\n${line}\n\nChanges to Outputs:\n`)).toEqual({ additions, changes, destructions, imports })
  })

  test('is read from the message of a structured log', () => {
    const summary = {
      '@message': 'Plan: 1 to add, 0 to change, 0 to destroy.',
      changes: { add: 1, change: 2, import: 3, remove: 4, operation: 'plan' },
      type: 'change_summary',
    }

    expect(of(`not json\n${JSON.stringify(summary)}\n{"type":"outputs"}\n`)).toEqual({
      additions: 1,
      changes: 2,
      destructions: 4,
      imports: 3,
    })
  })

  test.each([
    ['a value of an attribute', '          Plan: 9 to add, 9 to change, 9 to destroy.\n'],
    ['a warning', '│ Plan: 9 to add, 9 to change, 9 to destroy.\n'],
    ['a change of outputs alone', 'Changes to Outputs:\n  + a = "b"\n'],
  ])('is not read from %s', (_, text) => {
    expect(of(text)).toBeUndefined()
  })
})
