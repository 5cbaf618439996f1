import { expect, test } from 'vitest'
import { needsOthers, situation } from './decision-words.ts'
import type { RunDocument } from './run.ts'
import { at, planWith, runWith, stageWith } from './testing/run.ts'

const CONFIRMABLE = {
  'is-cancelable': true,
  'is-confirmable': true,
  'is-discardable': true,
  'is-force-cancelable': false,
}
const READER = { ...runWith().attributes.permissions, 'can-apply': false }

function documentOf(attributes: Parameters<typeof runWith>[0], more: Partial<RunDocument> = {}): RunDocument {
  return {
    run: runWith(attributes),
    plan: planWith({ status: 'pending' }),
    apply: undefined,
    workspace: undefined,
    configuration: undefined,
    createdBy: undefined,
    stages: [],
    events: [],
    triggers: [],
    ...more,
  }
}

test.each([
  { run: { status: 'planned', actions: CONFIRMABLE }, is: /^Look at the changes/ },
  { run: { status: 'planned', actions: CONFIRMABLE, permissions: READER }, is: /^Waits for the approval of somebody/ },
  { run: { status: 'planned_and_saved', actions: CONFIRMABLE }, is: /^The plan is kept until the state changes/ },
  { run: { status: 'planned_and_saved' }, is: /^The state has moved on.*Make a new plan/ },
  { run: { status: 'planning', 'auto-apply': true }, is: /It applies by itself when/ },
  { run: { status: 'planning' }, is: /It needs approval when the plan has changes/ },
  { run: { status: 'planning', 'plan-only': true }, is: /It only plans/ },
  { run: { status: 'planning', 'force-cancel-available-at': at(9) }, is: /^The run is being canceled/ },
  { run: { status: 'planned_and_finished', 'plan-only': true }, is: /for its plan only/ },
  { run: { status: 'planned_and_finished' }, is: /there is nothing to apply/ },
  { run: { status: 'pending' }, is: /^The run waits for its turn/ },
] as const)('of $run the rail says $is', ({ run, is }) => {
  expect(situation(documentOf(run))).toMatch(is)
})

test('a mandatory task that has stopped a run can not be overridden', () => {
  const stages = [stageWith({ stage: 'post_plan', status: 'failed' })]

  expect(situation(documentOf({ status: 'errored' }, { stages }))).toContain('nobody can override it')
})

test('a verdict that stops the run is told before the run has ended', () => {
  const stages = [stageWith({ stage: 'post_plan', status: 'failed' })]

  expect(situation(documentOf({ status: 'post_plan_running' }, { stages }))).toContain('the run stops in a moment')
})

test('only a reader who can not approve is told who can', () => {
  expect(needsOthers(documentOf({ status: 'planned', actions: CONFIRMABLE, permissions: READER }))).toBe('approve')
  expect(needsOthers(documentOf({ status: 'planned', actions: CONFIRMABLE }))).toBeUndefined()
})
