import { expect, test } from 'vitest'
import { at, runWith, stageWith } from '../testing/run.ts'
import { defaultTab } from './run-page.tsx'

const PLANNING = { 'planning-at': at(1) }
const PLANNED = { ...PLANNING, 'planned-at': at(2) }

test.each([
  { status: 'pending', times: {}, tab: 'timeline' },
  { status: 'planning', times: PLANNING, tab: 'log' },
  { status: 'post_plan_running', times: PLANNED, tab: 'tasks' },
  { status: 'planned', times: PLANNED, tab: 'changes' },
  { status: 'applying', times: PLANNED, tab: 'changes' },
  { status: 'applied', times: PLANNED, tab: 'changes' },
  { status: 'errored', times: PLANNING, tab: 'log' },
  { status: 'canceled', times: {}, tab: 'timeline' },
] as const)('by default, a run that is $status shows $tab', ({ status, times, tab }) => {
  expect(defaultTab(runWith({ status, 'status-timestamps': times }), [])).toBe(tab)
})

test('a run stopped by a task shows the run tasks', () => {
  const stages = [stageWith({ stage: 'post_plan', status: 'failed' })]

  expect(defaultTab(runWith({ status: 'errored', 'status-timestamps': PLANNED }), stages)).toBe('tasks')
})
