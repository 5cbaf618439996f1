import { expect, test } from 'vitest'
import { planWith } from '../testing/run.ts'
import { hasLog, retentionText } from './log-store.ts'

const stamps = { 'started-at': '2030-01-01T10:00:00.000Z', 'finished-at': '2030-01-01T10:01:00.000Z' }

test('the retention text has the number of days and the date', () => {
  const plan = planWith({ 'status-timestamps': stamps })

  expect(retentionText(plan, '2030-04-01T11:00:00.000Z')).toMatch(/^was retained for 90 days, until .*2030/)
  expect(retentionText(planWith({}), '2030-04-01T11:00:00.000Z')).toMatch(/^was retained until .*2030/)
})

test('a deleted log is not requested', () => {
  const deleted = planWith({ 'status-timestamps': stamps, 'log-deleted-at': '2030-04-01T11:00:00.000Z' })

  expect(hasLog(planWith({ 'status-timestamps': stamps }))).toBe(true)
  expect(hasLog(deleted)).toBe(false)
})
