import { describe, expect, test } from 'vitest'
import type { ApplyEvent } from '../log/apply-events.ts'
import { applyProgress } from './apply-progress.ts'
import { rowProgress } from './row-progress.ts'

const HEARD_AT = 1_000_000
const CREATE = { kind: 'create', steps: 1, isDeferred: false } as const
const REPLACE = { kind: 'replace', steps: 2, isDeferred: false } as const
const RUNNING = { apply: 'running', hasError: false } as const

function progressOf(...events: (Omit<ApplyEvent, 'address' | 'at'> & { at?: number })[]) {
  return applyProgress(events.map((event) => ({ address: 'a.b', at: HEARD_AT, ...event }))).get('a.b')
}
const started = { kind: 'started', action: 'create' } as const
const done = { kind: 'done', action: 'create', seconds: 3 } as const

describe('a resource in an apply', () => {
  test('waits until the engine comes to it', () => {
    expect(rowProgress(CREATE, undefined, RUNNING)).toEqual({ state: 'waiting' })
  })

  test('is at work since it was begun, by the time in the log', () => {
    expect(rowProgress(CREATE, progressOf({ ...started, at: 5000 }), RUNNING)).toMatchObject({
      state: 'running',
      action: 'create',
      since: 5000,
    })
  })

  test('is at work since as long as the text says, which has no times', () => {
    const progress = progressOf(started, { kind: 'progress', action: 'create', seconds: 20 })

    expect(rowProgress(CREATE, progress, RUNNING)).toMatchObject({ state: 'running', since: HEARD_AT - 20_000 })
  })

  test('that is replaced is done after both steps', () => {
    const destroyed = { kind: 'done', action: 'destroy', seconds: 1 } as const

    expect(rowProgress(REPLACE, progressOf(destroyed), RUNNING)).toEqual({ state: 'waiting' })
    expect(rowProgress(REPLACE, progressOf(destroyed, started, done), RUNNING)).toEqual({ state: 'done', seconds: 4 })
  })

  test('has failed when the engine says so, or an error names it', () => {
    expect(rowProgress(CREATE, progressOf(started, { kind: 'failed', action: 'create' }), RUNNING)).toEqual({
      state: 'failed',
    })
    expect(rowProgress(CREATE, progressOf(started), { apply: 'stopped', hasError: true })).toEqual({ state: 'failed' })
  })

  test('was not reached when the apply has stopped before', () => {
    expect(rowProgress(CREATE, undefined, { apply: 'stopped', hasError: false })).toEqual({ state: 'left' })
  })
})
