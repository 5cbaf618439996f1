import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, test } from 'vitest'
import { Phase, whyEnded } from './phase.tsx'
import type { PhaseOnWire, RunEnding } from './runs.ts'

const RUN: RunEnding = { status: 'planned', 'error-message': null, 'plan-only': false }

function html(title: 'Plan' | 'Apply', attributes: Partial<PhaseOnWire['attributes']>, reason?: string) {
  const phase: PhaseOnWire = {
    id: 'plan-1',
    attributes: {
      status: 'running',
      'status-timestamps': {},
      'log-read-url': 'https://groundstate.example/_objects/logs/1',
      'resource-additions': null,
      'resource-changes': null,
      'resource-destructions': null,
      'resource-imports': null,
      'execution-details': null,
      ...attributes,
    },
  }
  return renderToStaticMarkup(<Phase title={title} phase={phase} reason={reason} />)
}

describe('a phase', () => {
  test.each([
    { title: 'Plan', status: 'unreachable', says: 'The plan was never started' },
    { title: 'Plan', status: 'canceled', says: 'The plan was never started' },
    { title: 'Plan', status: 'errored', says: 'The plan was never started' },
    { title: 'Apply', status: 'unreachable', says: 'The apply was not reached' },
    { title: 'Apply', status: 'canceled', says: 'The apply was never started' },
  ] as const)('$title that is $status and was not begun says so, and waits for no log', ({ title, status, says }) => {
    const withoutReason = html(title, { status })
    const withReason = html(title, { status }, 'the mandatory task audit failed')

    expect(withoutReason).toContain(`${says}.`)
    expect(withReason).toContain(`${says}: the mandatory task audit failed`)
    expect(withReason).not.toContain('<pre')
  })

  test.each(['queued', 'running'] as const)('that is %s waits for its log', (status) => {
    expect(html('Plan', { status })).toContain('Waiting for output…')
  })

  test('that was begun shows its log, however it ended', () => {
    const shown = html('Plan', { status: 'canceled', 'status-timestamps': { 'started-at': '2026-01-01T00:00:00Z' } })

    expect(shown).toContain('<pre')
    expect(shown).not.toContain('never started')
  })

  test('that nobody has come to yet is not shown', () => {
    expect(html('Apply', { status: 'pending' })).toBe('')
  })
})

test.each([
  { run: { status: 'errored', 'error-message': 'the mandatory task audit failed' }, is: /audit failed/ },
  { run: { status: 'canceled' }, is: /was canceled$/ },
  { run: { status: 'discarded' }, is: /was discarded$/ },
  { run: { status: 'planned_and_finished' }, is: /nothing to change/ },
  { run: { status: 'planned_and_finished', 'plan-only': true }, is: /plan only/ },
] as const)('why a run ended: $run', ({ run, is }) => {
  expect(whyEnded({ ...RUN, ...run })).toMatch(is)
})

test('a run that goes on has not ended', () => {
  expect(whyEnded(RUN)).toBeUndefined()
})
