import { isEnded, RUN_GROUPS } from '@groundstate/contract/run-status'
import { expect, test } from 'vitest'
import { type RunStatusFields, runState } from './run-status.tsx'

const CONFIRMABLE = {
  'is-cancelable': false,
  'is-confirmable': true,
  'is-discardable': true,
  'is-force-cancelable': false,
}

test.each([
  { run: { status: 'planned', 'plan-only': false, actions: CONFIRMABLE }, text: 'needs approval' },
  { run: { status: 'post_plan_completed', 'plan-only': false, actions: CONFIRMABLE }, text: 'needs approval' },
  { run: { status: 'planned', 'plan-only': false }, text: 'planned' },
  { run: { status: 'planned_and_finished', 'plan-only': true, 'has-changes': true }, text: 'planned' },
  { run: { status: 'planned_and_finished', 'plan-only': false, 'has-changes': false }, text: 'no changes' },
  { run: { status: 'post_plan_awaiting_decision', 'plan-only': false }, text: 'needs a decision' },
] satisfies { run: RunStatusFields; text: string }[])('the state of $run is "$text"', ({ run, text }) => {
  expect(runState(run).text).toBe(text)
})

test('a planned run that continues automatically is running', () => {
  const actions = { ...CONFIRMABLE, 'is-confirmable': false }

  expect(runState({ status: 'planned', 'plan-only': false, actions })).toEqual({ text: 'planned', group: 'running' })
})

test('a saved plan has not ended, since it can be applied', () => {
  expect(isEnded('planned_and_saved')).toBe(false)
})

test('statuses belong to the groups that list filters use', () => {
  const groups = Object.entries(RUN_GROUPS).flatMap(([group, statuses]) =>
    statuses.map((status) => ({ group, status })),
  )

  const shown = groups.map(({ status }) => ({ group: runState({ status, 'plan-only': false }).group, status }))

  expect(shown).toEqual(groups)
})

test('a confirmable run needs approval unless its plan is saved', () => {
  expect(runState({ status: 'planned', 'plan-only': false, actions: CONFIRMABLE }).group).toBe('needs_approval')
  expect(runState({ status: 'planned_and_saved', 'plan-only': false, actions: CONFIRMABLE })).toEqual({
    text: 'plan saved',
    group: 'finished',
  })
})
