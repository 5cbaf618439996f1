import { expect, test } from 'vitest'
import type { RunDocument } from '../run.ts'
import { at, planWith, runWith, stageWith } from '../testing/run.ts'
import { requiredFromOthers, runSituation } from './run-situation.ts'

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
    commit: undefined,
    createdBy: undefined,
    stages: [],
    events: [],
    triggers: [],
    ...more,
  }
}

test.each([
  { run: { status: 'planned', actions: CONFIRMABLE }, text: /^Review the changes/ },
  { run: { status: 'planned', actions: CONFIRMABLE, permissions: READER }, text: /^Waiting for approval by a user/ },
  {
    run: { status: 'planned_and_saved', actions: CONFIRMABLE },
    text: /^The saved plan can be applied until the state changes/,
  },
  { run: { status: 'planned_and_saved' }, text: /^This plan is stale.*Create a new plan/ },
  { run: { status: 'planning', 'auto-apply': true }, text: /It is applied automatically once/ },
  { run: { status: 'planning' }, text: /It needs approval if the plan has changes/ },
  { run: { status: 'planning', 'plan-only': true }, text: /It is plan-only/ },
  { run: { status: 'planning', 'force-cancel-available-at': at(9) }, text: /^Cancellation requested/ },
  { run: { status: 'planned_and_finished', 'plan-only': true }, text: /plan-only and can’t be applied/ },
  { run: { status: 'planned_and_finished' }, text: /^No changes/ },
  { run: { status: 'pending' }, text: /^The run is queued/ },
  { run: { status: 'fetching' }, text: /^Fetching the configuration/ },
] as const)('the situation of $run is $text', ({ run, text }) => {
  expect(runSituation(documentOf(run))).toMatch(text)
})

test('a mandatory task that stopped a run cannot be overridden', () => {
  const stages = [stageWith({ stage: 'post_plan', status: 'failed' })]

  expect(runSituation(documentOf({ status: 'errored' }, { stages }))).toContain('can’t be overridden')
})

test('a result that stops the run is reported before the run has ended', () => {
  const stages = [stageWith({ stage: 'post_plan', status: 'failed' })]

  expect(runSituation(documentOf({ status: 'post_plan_running' }, { stages }))).toContain('the run is about to stop')
})

test('a run needs the approval of others only if the user cannot approve it', () => {
  expect(requiredFromOthers(documentOf({ status: 'planned', actions: CONFIRMABLE, permissions: READER }))).toBe(
    'approve',
  )
  expect(requiredFromOthers(documentOf({ status: 'planned', actions: CONFIRMABLE }))).toBeUndefined()
})
