import { expect, test } from 'vitest'
import { defaultParts } from './run-parts.ts'
import { at, runWith, stageWith } from './testing/run.ts'

const PLANNING = { 'planning-at': at(1) }
const PLANNED = { ...PLANNING, 'planned-at': at(2) }

test.each([
  { status: 'pending', times: {}, is: ['timeline'] },
  { status: 'planning', times: PLANNING, is: ['log'] },
  { status: 'post_plan_running', times: PLANNED, is: ['tasks'] },
  { status: 'planned', times: PLANNED, is: ['changes'] },
  { status: 'applying', times: PLANNED, is: ['changes', 'log'] },
  { status: 'applied', times: PLANNED, is: ['changes'] },
  { status: 'errored', times: PLANNING, is: ['log'] },
  { status: 'canceled', times: {}, is: ['timeline'] },
] as const)('who has chosen nothing sees $is of a run that is $status', ({ status, times, is }) => {
  expect(defaultParts(runWith({ status, 'status-timestamps': times }), [])).toEqual(is)
})

test('a run that a task has stopped shows the tasks', () => {
  const stages = [stageWith({ stage: 'post_plan', status: 'failed' })]

  expect(defaultParts(runWith({ status: 'errored', 'status-timestamps': PLANNED }), stages)).toEqual(['tasks'])
})
