import { expect, test } from 'vitest'
import { planWith } from '../testing/run.ts'
import { hasLog } from './log-store.ts'
import { wasKept } from './was-kept.ts'

const stamps = { 'started-at': '2030-01-01T10:00:00.000Z', 'finished-at': '2030-01-01T10:01:00.000Z' }

test('what is no longer kept says for how long it was', () => {
  const plan = planWith({ 'status-timestamps': stamps })

  expect(wasKept(plan, '2030-04-01T11:00:00.000Z')).toMatch(/^was kept for 90 days, until .*2030/)
  expect(wasKept(planWith({}), '2030-04-01T11:00:00.000Z')).toMatch(/^was kept until .*2030/)
})

test('a log that is no longer kept is not asked for', () => {
  const deleted = planWith({ 'status-timestamps': stamps, 'log-deleted-at': '2030-04-01T11:00:00.000Z' })

  expect(hasLog(planWith({ 'status-timestamps': stamps }))).toBe(true)
  expect(hasLog(deleted)).toBe(false)
})
