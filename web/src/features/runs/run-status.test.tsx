import { expect, test } from 'vitest'
import { isFinal, type RunFacts, runState } from './run-status.tsx'

const CONFIRMABLE = {
  'is-cancelable': false,
  'is-confirmable': true,
  'is-discardable': true,
  'is-force-cancelable': false,
}

test.each([
  { run: { status: 'planned', 'plan-only': false, actions: CONFIRMABLE }, is: 'needs approval' },
  { run: { status: 'post_plan_completed', 'plan-only': false, actions: CONFIRMABLE }, is: 'needs approval' },
  { run: { status: 'planned', 'plan-only': false }, is: 'planned' },
  { run: { status: 'planned_and_finished', 'plan-only': true, 'has-changes': true }, is: 'planned' },
  { run: { status: 'planned_and_finished', 'plan-only': false, 'has-changes': false }, is: 'no changes' },
  { run: { status: 'post_plan_awaiting_decision', 'plan-only': false }, is: 'needs a decision' },
] satisfies { run: RunFacts; is: string }[])('the state of $run is "$is"', ({ run, is }) => {
  expect(runState(run).text).toBe(is)
})

test('a saved plan is not final: it waits for its apply', () => {
  expect(isFinal('planned_and_saved')).toBe(false)
})
