import { expect, test } from 'vitest'
import { currentStep, stepsOf } from './run-stages.ts'
import { at, planWith, runWith, stageWith } from './testing/run.ts'

const CONFIRMABLE = {
  'is-cancelable': false,
  'is-confirmable': true,
  'is-discardable': true,
  'is-force-cancelable': false,
}
const NO_APPLY = planWith({ status: 'pending' })

/** The steps as "title: what it says". */
function told(steps: ReturnType<typeof stepsOf>) {
  return steps.map(({ title, text }) => `${title}: ${text}`)
}

test('a run that needs approval has gone as far as that, and shows the tasks that it has', () => {
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

  const steps = stepsOf({ run, plan: planWith({}), apply: NO_APPLY, stages })

  expect(told(steps)).toEqual([
    'Queued: had its turn',
    'Plan: planned',
    'Post-plan tasks: 1 advisory failure',
    'Approval: needs approval',
    'Apply: not yet',
    'Post-apply tasks: not yet',
  ])
  expect(currentStep(steps)).toMatchObject({ title: 'Approval', from: at(9) })
})

test('a plan-only run has nothing after its plan', () => {
  const run = runWith({
    status: 'planned_and_finished',
    'plan-only': true,
    'status-timestamps': { 'fetching-at': at(1) },
  })
  const stages = [stageWith({ stage: 'pre_apply', status: 'unreachable' })]

  expect(told(stepsOf({ run, plan: planWith({}), apply: undefined, stages }))).toEqual([
    'Queued: had its turn',
    'Plan: planned',
  ])
})

test('a run that was canceled in the queue says so, and that it reached nothing else', () => {
  const run = runWith({ status: 'canceled', 'status-timestamps': { 'canceled-at': at(5) } })
  const plan = planWith({ status: 'canceled' })
  const apply = planWith({ status: 'unreachable' })

  const steps = stepsOf({ run, plan, apply, stages: [] })

  expect(told(steps)).toEqual(['Queued: canceled', 'Plan: canceled', 'Approval: not reached', 'Apply: not reached'])
  expect(steps[0]).toMatchObject({ from: at(0), to: at(5) })
})

test.each([
  { attributes: { status: 'planned_and_saved', actions: CONFIRMABLE }, is: 'plan saved' },
  { attributes: { status: 'planned_and_saved' }, is: 'out of date' },
  { attributes: { status: 'planning', 'auto-apply': true }, is: 'automatic' },
  { attributes: { status: 'planned_and_finished' }, is: 'nothing to apply' },
  { attributes: { status: 'applied', 'status-timestamps': { 'confirmed-at': at(3) } }, is: 'automatic' },
] as const)('the approval of $attributes.status is told as "$is"', ({ attributes, is }) => {
  const steps = stepsOf({ run: runWith(attributes), plan: planWith({}), apply: undefined, stages: [] })

  expect(steps.find(({ id }) => id === 'approval')?.text).toBe(is)
})
