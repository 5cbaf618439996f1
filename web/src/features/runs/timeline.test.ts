import { expect, test } from 'vitest'
import type { RunEvent } from './run.ts'
import { at, planWith, runWith, stageWith } from './testing/run.ts'
import { timelineOf } from './timeline.ts'

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

function told(facts: Partial<Parameters<typeof timelineOf>[0]>) {
  const entries = timelineOf({ run: runWith(), plan: undefined, apply: undefined, stages: [], events: [], ...facts })
  return entries.map(({ author, text }) => (author === undefined ? text : `${author} ${text}`))
}

test('people, phases and tasks stand in the order in which they acted', () => {
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

  expect(told({ plan, stages, events })).toEqual([
    'ada started the run through the API',
    'The plan was queued',
    'The plan started',
    'The plan finished: +2 ~4 −0',
    'The task audit was asked',
    'The task audit failed, which is advisory',
    'ada commented',
    'ada approved the plan',
  ])
})

test('what nobody approved went on by itself', () => {
  const run = runWith({ 'status-timestamps': { 'confirmed-at': at(3) } })

  expect(told({ run })).toEqual(['The run went on by itself: it is set to auto-apply'])
})

test('a run of another workspace is named as what started this one', () => {
  const run = runWith({ 'triggering-source-name': 'network' })

  expect(told({ run, events: [{ ...event('created', 0), author: undefined }] })).toEqual([
    'A run of network started this one',
  ])
})
