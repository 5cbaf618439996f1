import { describe, expect, test } from 'vitest'
import { currentStep, phasesNeverStarted, runSteps, stoppingStage, neverStarted, endReason } from './run-steps.tsx'
import { at, planWith, runWith, stageWith } from './testing/run.ts'

const CONFIRMABLE = {
  'is-cancelable': false,
  'is-confirmable': true,
  'is-discardable': true,
  'is-force-cancelable': false,
}
const NO_APPLY = planWith({ status: 'pending' })

/** The steps as "title: text". */
function texts(steps: ReturnType<typeof runSteps>) {
  return steps.map(({ title, text }) => `${title}: ${text}`)
}

test('a run that needs approval shows its tasks and the steps ahead', () => {
  const run = runWith({
    status: 'post_plan_completed',
    actions: CONFIRMABLE,
    'status-timestamps': { 'fetching-at': at(1), 'post-plan-completed-at': at(9) },
  })
  const stages = [
    stageWith({ stage: 'post_plan', status: 'passed' }, [
      { status: 'passed' },
      { status: 'failed', 'workspace-task-enforcement-level': 'advisory' },
    ]),
    stageWith({ stage: 'post_apply', status: 'pending' }),
  ]

  const steps = runSteps({ run, plan: planWith({}), apply: NO_APPLY, stages })

  expect(texts(steps)).toEqual([
    'Queued: left the queue',
    'Plan: planned',
    'Post-plan tasks: 1 advisory failure',
    'Approval: needs approval',
    'Apply: pending',
    'Post-apply tasks: pending',
  ])
  expect(currentStep(steps)).toMatchObject({ title: 'Approval', from: at(9) })
})

test('a plan-only run has no steps after its plan', () => {
  const run = runWith({
    status: 'planned_and_finished',
    'plan-only': true,
    'status-timestamps': { 'fetching-at': at(1) },
  })
  const stages = [stageWith({ stage: 'pre_apply', status: 'unreachable' })]

  expect(texts(runSteps({ run, plan: planWith({}), apply: undefined, stages }))).toEqual([
    'Queued: left the queue',
    'Plan: planned',
  ])
})

test('a run canceled in the queue reached no other step', () => {
  const run = runWith({ status: 'canceled', 'status-timestamps': { 'canceled-at': at(5) } })
  const plan = planWith({ status: 'canceled' })
  const apply = planWith({ status: 'unreachable' })

  const steps = runSteps({ run, plan, apply, stages: [] })

  expect(texts(steps)).toEqual(['Queued: canceled', 'Plan: canceled', 'Approval: not reached', 'Apply: not reached'])
  expect(steps[0]).toMatchObject({ from: at(0), to: at(5) })
})

test.each([
  { attributes: { status: 'planned_and_saved', actions: CONFIRMABLE }, text: 'plan saved' },
  { attributes: { status: 'planned_and_saved' }, text: 'stale' },
  { attributes: { status: 'planning', 'auto-apply': true }, text: 'auto-apply' },
  { attributes: { status: 'planned_and_finished' }, text: 'nothing to apply' },
  { attributes: { status: 'applied', 'status-timestamps': { 'confirmed-at': at(3) } }, text: 'auto-applied' },
] as const)('the approval step of a run that is $attributes.status is "$text"', ({ attributes, text }) => {
  const steps = runSteps({ run: runWith(attributes), plan: planWith({}), apply: undefined, stages: [] })

  expect(steps.find(({ id }) => id === 'approval')?.text).toBe(text)
})

describe('a phase', () => {
  test.each(['canceled', 'errored', 'unreachable'] as const)(
    'that is %s without a start time never started',
    (status) => {
      expect(neverStarted({ status, 'status-timestamps': {} })).toBe(true)
      expect(neverStarted({ status, 'status-timestamps': { 'started-at': at(1) } })).toBe(false)
    },
  )

  test.each(['pending', 'queued', 'running'] as const)('that is %s may still start', (status) => {
    expect(neverStarted({ status, 'status-timestamps': {} })).toBe(false)
  })
})

test('a plan-only run has no apply that could be skipped', () => {
  const skipped = { status: 'unreachable', 'status-timestamps': {} } as const

  expect(phasesNeverStarted(skipped, skipped, false)).toEqual(['the plan', 'the apply'])
  expect(phasesNeverStarted(skipped, skipped, true)).toEqual(['the plan'])
})

test.each([
  {
    run: { status: 'errored', 'error-message': 'the mandatory task audit failed' },
    text: 'the mandatory task audit failed',
  },
  { run: { status: 'canceled', 'error-message': null }, text: 'the run was canceled' },
  { run: { status: 'discarded', 'error-message': null }, text: 'the run was discarded' },
  { run: { status: 'planned', 'error-message': null }, text: undefined },
  { run: { status: 'applied', 'error-message': null }, text: undefined },
] as const)('the end reason of $run is $text', ({ run, text }) => {
  expect(endReason(run)).toBe(text)
})

test('a failed stage stops its run, except after the apply', () => {
  const failed = { status: 'failed' } as const

  expect(stoppingStage('errored', [stageWith({ stage: 'post_plan', ...failed })])).toBe('post_plan')
  expect(stoppingStage('errored', [stageWith({ stage: 'post_apply', ...failed })])).toBeUndefined()
  expect(stoppingStage('planned', [stageWith({ stage: 'post_plan', ...failed })])).toBeUndefined()
})
