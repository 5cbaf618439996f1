import { expect, test } from 'vitest'
import type { RunEvent } from '../run.ts'
import { at, planWith, policyEvaluationWith, runWith, stageWith } from '../testing/run.ts'
import { timelineEntries } from './timeline-tab.tsx'

function event(action: string, second: number, more: Partial<RunEvent> = {}): RunEvent {
  return {
    id: `re-${second}`,
    type: 'run-events',
    attributes: { action, description: null, 'created-at': at(second) },
    relationships: { run: { data: null }, actor: { data: null }, comment: { data: null } },
    links: { self: '' },
    author: 'ada',
    comment: undefined,
    ...more,
  }
}

function texts(fields: Partial<Parameters<typeof timelineEntries>[0]>) {
  const entries = timelineEntries({
    run: runWith(),
    plan: undefined,
    apply: undefined,
    stages: [],
    events: [],
    ...fields,
  })
  return entries.map(({ author, text }) => (author === undefined ? text : `${author} ${text}`))
}

test('events of users, phases and tasks are in chronological order', () => {
  const plan = planWith({
    'status-timestamps': { 'queued-at': at(1), 'started-at': at(2), 'finished-at': at(5) },
    'resource-additions': 2,
    'resource-changes': 4,
    'resource-destructions': 0,
  })
  const stages = [
    stageWith({ stage: 'post_plan', status: 'passed', 'status-timestamps': { 'running-at': at(6) } }, [
      {
        status: 'failed',
        'workspace-task-enforcement-level': 'advisory',
        'status-timestamps': { 'failed-at': at(7) },
      },
    ]),
  ]
  const events = [event('created', 0), event('confirmed', 9), event('commented', 8, { comment: 'go' })]

  expect(texts({ plan, stages, events })).toEqual([
    'ada created the run via API',
    'Plan queued',
    'Plan started',
    'Plan finished: +2 ~4 −0',
    'Run task audit started',
    'Run task audit: failed, advisory',
    'ada commented',
    'ada approved the plan',
  ])
})

test('policies are evaluated, and an override is there once', () => {
  const stage = stageWith({ stage: 'post_plan', 'status-timestamps': { 'running-at': at(1) } }, [])
  const evaluation = policyEvaluationWith({
    status: 'overridden',
    message: 'no databases',
    'status-timestamps': { 'running-at': at(1), 'failed-at': at(2), 'overridden-at': at(3) },
  })
  const override = event('overrode_policies', 3)
  override.attributes.description = 'overrode the failed policies'

  const entries = timelineEntries({
    run: runWith(),
    plan: undefined,
    apply: undefined,
    stages: [{ ...stage, evaluations: [evaluation] }],
    events: [override],
  })

  expect(entries.map(({ text, description }) => [text, description])).toEqual([
    ['Policies started', undefined],
    ['Policies failed', 'no databases'],
    ['overrode the failed policies', undefined],
  ])
})

test('a confirmation without an event is automatic', () => {
  const run = runWith({ 'status-timestamps': { 'confirmed-at': at(3) } })

  expect(texts({ run })).toEqual(['Plan approved automatically (auto-apply)'])
})

test('a warning of the agent is its own', () => {
  const events = [{ ...event('reported', 0), author: undefined }]
  const fields = { run: runWith(), plan: undefined, apply: undefined, stages: [], events }

  expect(timelineEntries(fields)).toMatchObject([{ author: 'The agent', text: 'reported a warning', state: 'warning' }])
})

test('a triggered run names the source workspace', () => {
  const run = runWith({ 'triggering-source-name': 'network' })

  expect(texts({ run, events: [{ ...event('created', 0), author: undefined }] })).toEqual([
    'Run triggered by a run of network',
  ])
})
