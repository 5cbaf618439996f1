import { isEnded, RUN_STATUS, RUN_STATUS_TABLE, type RunStatus } from '@groundstate/contract/run-status'
import { STAGES } from '@groundstate/contract/run-tasks'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  advance,
  effectsOf,
  isForceCancelable,
  type RunConditions,
  type JobOutcome,
  type MachineRun,
  type StageStatus,
} from './machine.ts'

const RUN: MachineRun = {
  status: 'pending',
  planOnly: false,
  savePlan: false,
  autoApply: false,
  allowEmptyApply: false,
  hasChanges: true,
  occupies: false,
  confirmed: false,
}
const CONDITIONS: RunConditions = {
  canStart: true,
  configuration: 'ready',
  job: 'queued',
  stages: {},
  stale: false,
  requested: 'none',
}

function go(run: Partial<MachineRun>, conditions: Partial<RunConditions> = {}) {
  return advance({ ...RUN, ...run }, { ...CONDITIONS, ...conditions })
}

test.each(RUN_STATUS)('a forced cancel of a run that is %s is offered only if it ends the run', (status) => {
  const canceled = { status, cancel_requested_at: new Date(0), force_cancel_available_at: new Date(1) }

  const offered = isForceCancelable(canceled, new Date(2))

  expect(go({ status }, { requested: 'force-cancel' }).includes('force_canceled')).toBe(offered)
})

describe('the path of a run', () => {
  test('in a free workspace a new run is queued for agents immediately', () => {
    expect(go({})).toEqual(['fetching', 'fetching_completed', 'queuing', 'plan_queued'])
  })

  test('a run waits for its configuration, in its workspace', () => {
    expect(go({}, { configuration: 'fetching' })).toEqual(['fetching'])
    expect(effectsOf(RUN, ['fetching']).occupies).toBe(true)
    expect(go({ status: 'fetching', occupies: true }).at(-1)).toBe('plan_queued')
    expect(go({ status: 'fetching', occupies: true }, { configuration: 'failed' })).toEqual(['errored'])
    expect(go({ status: 'fetching' }, { configuration: 'fetching', requested: 'cancel' })).toEqual(['canceled'])
  })

  test('a run waits in the queue, a plan-only run does not', () => {
    expect(go({}, { canStart: false })).toEqual([])
    expect(go({ planOnly: true }, { canStart: false }).at(-1)).toBe('plan_queued')
    expect(go({ savePlan: true }, { canStart: false }).at(-1)).toBe('plan_queued')
  })

  test('a plan with changes waits for confirmation', () => {
    expect(go({ status: 'planning', occupies: true }, { job: 'finished' })).toEqual(['planned'])
  })

  test('a plan without changes ends the run, unless an empty apply is allowed', () => {
    const run = { status: 'planning', occupies: true, hasChanges: false } as const

    expect(go(run, { job: 'finished' })).toEqual(['planned', 'planned_and_finished'])
    expect(go({ ...run, allowEmptyApply: true }, { job: 'finished' })).toEqual(['planned'])
  })

  test('auto-apply confirms automatically', () => {
    expect(go({ status: 'planning', occupies: true, autoApply: true }, { job: 'finished' })).toEqual([
      'planned',
      'confirmed',
      'queuing_apply',
      'apply_queued',
    ])
  })

  test('a saved plan waits for confirmation, and then for the workspace', () => {
    const run = { status: 'planning', savePlan: true } as const

    expect(go(run, { job: 'finished' })).toEqual(['planned', 'planned_and_saved'])
    expect(go({ ...run, status: 'planned_and_saved', confirmed: true }, { canStart: false })).toEqual(['confirmed'])
    expect(go({ ...run, status: 'confirmed', confirmed: true }, { canStart: true }).at(-1)).toBe('apply_queued')
    expect(go({ ...run, status: 'confirmed', confirmed: true }, { stale: true })).toEqual(['errored'])
  })

  test('a lost plan is requeued, a lost apply is errored', () => {
    expect(go({ status: 'planning', occupies: true }, { job: 'retry' })).toEqual(['plan_queued'])
    expect(go({ status: 'planning', occupies: true }, { job: 'lost' })).toEqual(['errored'])
    expect(go({ status: 'applying', occupies: true }, { job: 'lost' })).toEqual(['errored'])
  })

  test('a failed apply stays running while its end is deferred', () => {
    expect(go({ status: 'applying', occupies: true }, { job: 'deferred' })).toEqual([])
  })

  test.each([
    ['post_plan_running', 'post_plan'],
    ['pre_apply_running', 'pre_apply'],
  ] as const)('in %s a deferred result does not end the run yet', (status, stage) => {
    expect(go({ status, occupies: true }, { stages: { [stage]: 'deferred' } })).toEqual([])
    expect(go({ status, occupies: true }, { stages: { [stage]: 'deferred' }, requested: 'cancel' })).toEqual([
      'canceled',
    ])
  })

  test('stages run in order', () => {
    const stages = { pre_plan: 'pending', post_plan: 'pending', pre_apply: 'pending', post_apply: 'pending' } as const

    expect(go({}, { stages }).at(-1)).toBe('pre_plan_running')
    expect(go({ status: 'pre_plan_running' }, { stages: { pre_plan: 'passed' } }).at(-1)).toBe('plan_queued')
    expect(go({ status: 'pre_plan_running' }, { stages: { pre_plan: 'failed' } })).toEqual(['errored'])
    expect(go({ status: 'planning', autoApply: true }, { job: 'finished', stages })).toEqual([
      'planned',
      'post_plan_running',
    ])
    expect(go({ status: 'post_plan_running' }, { stages: { post_plan: 'awaiting_override' } })).toEqual([
      'post_plan_awaiting_decision',
    ])
    expect(go({ status: 'post_plan_awaiting_decision' }, { stages: { post_plan: 'passed' } })).toEqual([
      'post_plan_completed',
    ])
    expect(go({ status: 'applying' }, { job: 'finished', stages })).toEqual(['post_apply_running'])
    expect(go({ status: 'post_apply_running' }, { stages: { post_apply: 'failed' } })).toEqual([
      'post_apply_completed',
      'applied',
    ])
  })
})

describe('a cancel', () => {
  test('ends a run immediately if no agent executes it', () => {
    for (const status of ['pending', 'plan_queued', 'planned', 'confirmed', 'apply_queued'] as const) {
      expect([
        status,
        ...go({ status, occupies: status !== 'pending' }, { requested: 'cancel', canStart: false }),
      ]).toEqual([status, 'canceled'])
    }
  })

  test('waits for the agent to stop', () => {
    expect(go({ status: 'planning' }, { requested: 'cancel', job: 'running' })).toEqual([])
    expect(go({ status: 'planning' }, { requested: 'cancel', job: 'canceled' })).toEqual(['canceled'])
    expect(go({ status: 'planning' }, { requested: 'cancel', job: 'finished' })).toEqual(['canceled'])
    expect(go({ status: 'planning' }, { requested: 'cancel', job: 'retry' })).toEqual(['canceled'])
  })

  test('of an apply that has finished changes nothing', () => {
    expect(go({ status: 'applying' }, { requested: 'cancel', job: 'finished' })).toEqual(['applied'])
    expect(go({ status: 'applying' }, { requested: 'cancel', job: 'errored' })).toEqual(['errored'])
  })

  test('does not wait if forced', () => {
    expect(go({ status: 'planning' }, { requested: 'force-cancel', job: 'running' })).toEqual(['force_canceled'])
    expect(go({ status: 'applying' }, { requested: 'force-cancel', job: 'running' })).toEqual(['force_canceled'])
  })
})

const jobs: readonly JobOutcome[] = [
  'queued',
  'running',
  'finished',
  'errored',
  'deferred',
  'canceled',
  'retry',
  'lost',
]
const stageStatuses: readonly StageStatus[] = [
  'pending',
  'running',
  'passed',
  'failed',
  'awaiting_override',
  'errored',
  'canceled',
  'unreachable',
  'deferred',
]
const anyStages = fc.record(Object.fromEntries(STAGES.map((stage) => [stage, fc.constantFrom(...stageStatuses)])), {
  requiredKeys: [],
})
const anyFacts: fc.Arbitrary<RunConditions> = fc.record({
  canStart: fc.boolean(),
  configuration: fc.constantFrom('ready', 'ready', 'ready', 'fetching', 'failed'),
  job: fc.constantFrom(...jobs),
  stages: anyStages,
  stale: fc.boolean(),
  requested: fc.constantFrom('none', 'none', 'none', 'none', 'none', 'none', 'discard', 'cancel', 'force-cancel'),
})
const APPLY_PART: ReadonlySet<RunStatus> = new Set([
  'pre_apply_running',
  'pre_apply_completed',
  'queuing_apply',
  'apply_queued',
  'applying',
  'post_apply_running',
  'post_apply_completed',
])
/** A run in any reachable state. */
const anyRun: fc.Arbitrary<MachineRun> = fc
  .record({
    status: fc.constantFrom<RunStatus>(...RUN_STATUS.filter((status) => !isEnded(status))),
    kind: fc.constantFrom('plain', 'plan-only', 'save-plan'),
    autoApply: fc.boolean(),
    allowEmptyApply: fc.boolean(),
    hasChanges: fc.boolean(),
    confirmed: fc.boolean(),
  })
  .filter(({ status, kind }) => {
    if (status === 'planned_and_saved') return kind === 'save-plan'
    return kind !== 'plan-only' || (status !== 'confirmed' && !APPLY_PART.has(status))
  })
  .map(({ kind, ...run }) => ({
    ...run,
    planOnly: kind === 'plan-only',
    savePlan: kind === 'save-plan',
    occupies: APPLY_PART.has(run.status) || (kind === 'plain' && run.status !== 'pending'),
  }))

test('every random walk takes only transitions of the table and keeps the invariants', () => {
  const reached = new Set<string>()
  fc.assert(
    fc.property(anyRun, fc.array(anyFacts, { maxLength: 30 }), (start, walk) => {
      let run = start
      for (const conditions of walk) {
        const path = advance(run, conditions)
        let from = run.status
        for (const status of path) {
          expect(RUN_STATUS_TABLE[from].next as readonly string[], `${from} → ${status}`).toContain(status)
          reached.add(`${from} → ${status}`)
          from = status
        }
        const effects = effectsOf(run, path)
        const ended = isEnded(from)
        expect(effects.releases).toBe(ended && run.occupies)
        expect(ended && (effects.occupies || effects.waits || effects.enqueue !== undefined)).toBe(false)
        expect(!ended && run.occupies && !effects.occupies).toBe(false)
        expect(from === 'applying' && !effects.occupies).toBe(false)
        expect(from === 'planning' && !effects.occupies && !run.planOnly && !run.savePlan).toBe(false)
        run = { ...run, status: from, occupies: effects.occupies }
      }
    }),
    // 3,000 walks occasionally miss a rare transition.
    { numRuns: 10_000 },
  )
  const missed = RUN_STATUS.flatMap((from) => RUN_STATUS_TABLE[from].next.map((to) => `${from} → ${to}`)).filter(
    (edge) => !reached.has(edge),
  )
  expect(missed).toEqual([])
})
