import { isEnded } from '@groundstate/contract/run-status'
import { RUN_GROUPS } from '@groundstate/contract/run-status'
import { expect, test } from 'vitest'
import { type RunFacts, runState } from './run-status.tsx'

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

test('a run that goes on by itself after its plan waits for nobody', () => {
  const actions = { ...CONFIRMABLE, 'is-confirmable': false }

  expect(runState({ status: 'planned', 'plan-only': false, actions })).toEqual({ text: 'planned', group: 'running' })
})

test('a saved plan is not final: it waits for its apply', () => {
  expect(isEnded('planned_and_saved')).toBe(false)
})

test('the group of a state is the one that lists are filtered by', () => {
  const groups = Object.entries(RUN_GROUPS).flatMap(([group, statuses]) =>
    statuses.map((status) => ({ group, status })),
  )

  const shown = groups.map(({ status }) => ({ group: runState({ status, 'plan-only': false }).group, status }))

  expect(shown).toEqual(groups)
})

test('a run that needs approval, and one whose plan is saved, are in the groups that they are counted in', () => {
  expect(runState({ status: 'planned', 'plan-only': false, actions: CONFIRMABLE }).group).toBe('needs_approval')
  expect(runState({ status: 'planned_and_saved', 'plan-only': false, actions: CONFIRMABLE })).toEqual({
    text: 'plan saved',
    group: 'finished',
  })
})
