import { expect, test } from 'vitest'
import { at, runWith, stageWith } from '../testing/run.ts'
import { defaultTabs } from './run-page.tsx'

const PLANNING = { 'planning-at': at(1) }
const PLANNED = { ...PLANNING, 'planned-at': at(2) }

test.each([
  { status: 'pending', times: {}, tabs: ['timeline'] },
  { status: 'planning', times: PLANNING, tabs: ['log'] },
  { status: 'post_plan_running', times: PLANNED, tabs: ['tasks'] },
  { status: 'planned', times: PLANNED, tabs: ['changes'] },
  { status: 'applying', times: PLANNED, tabs: ['changes', 'log'] },
  { status: 'applied', times: PLANNED, tabs: ['changes'] },
  { status: 'errored', times: PLANNING, tabs: ['log'] },
  { status: 'canceled', times: {}, tabs: ['timeline'] },
] as const)('by default, a run that is $status shows $tabs', ({ status, times, tabs }) => {
  expect(defaultTabs(runWith({ status, 'status-timestamps': times }), [])).toEqual(tabs)
})

test('a run stopped by a task shows the run tasks', () => {
  const stages = [stageWith({ stage: 'post_plan', status: 'failed' })]

  expect(defaultTabs(runWith({ status: 'errored', 'status-timestamps': PLANNED }), stages)).toEqual(['tasks'])
})
