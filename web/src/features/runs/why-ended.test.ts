import { describe, expect, test } from 'vitest'
import { at, stageWith } from './testing/run.ts'
import { neverBegun, stoppingStage, wasNeverBegun, whyEnded } from './why-ended.ts'

describe('a phase', () => {
  test.each(['canceled', 'errored', 'unreachable'] as const)(
    'that is %s and has no start was never begun',
    (status) => {
      expect(wasNeverBegun({ status, 'status-timestamps': {} })).toBe(true)
      expect(wasNeverBegun({ status, 'status-timestamps': { 'started-at': at(1) } })).toBe(false)
    },
  )

  test.each(['pending', 'queued', 'running'] as const)('that is %s may begin yet', (status) => {
    expect(wasNeverBegun({ status, 'status-timestamps': {} })).toBe(false)
  })
})

test('a run that plans only has no apply that it missed', () => {
  const missed = { status: 'unreachable', 'status-timestamps': {} } as const

  expect(neverBegun(missed, missed, false)).toEqual(['the plan', 'the apply'])
  expect(neverBegun(missed, missed, true)).toEqual(['the plan'])
})

test.each([
  {
    run: { status: 'errored', 'error-message': 'the mandatory task audit failed' },
    is: 'the mandatory task audit failed',
  },
  { run: { status: 'canceled', 'error-message': null }, is: 'the run was canceled' },
  { run: { status: 'discarded', 'error-message': null }, is: 'the run was discarded' },
  { run: { status: 'planned', 'error-message': null }, is: undefined },
  { run: { status: 'applied', 'error-message': null }, is: undefined },
] as const)('why $run ended: $is', ({ run, is }) => {
  expect(whyEnded(run)).toBe(is)
})

test('a stage that failed stops a run, unless it comes after the apply', () => {
  const failed = { status: 'failed' } as const

  expect(stoppingStage('errored', [stageWith({ stage: 'post_plan', ...failed })])).toBe('post_plan')
  expect(stoppingStage('errored', [stageWith({ stage: 'post_apply', ...failed })])).toBeUndefined()
  expect(stoppingStage('planned', [stageWith({ stage: 'post_plan', ...failed })])).toBeUndefined()
})
