import { expect, test } from 'vitest'
import { lockReason } from './lock-holder.ts'

const ADA = { kind: 'user', id: 'user-1', name: 'ada' } as const
const NOW = new Date(2026, 10, 22, 15, 0)

function lock(at: Date | null, reason: string | null) {
  return { 'locked-at': at?.toISOString() ?? null, 'locked-reason': reason }
}

test('the reason names the holder, the time and the comment', () => {
  expect(lockReason(ADA, lock(new Date(2026, 10, 22, 12, 4), 'maintenance'), NOW)).toBe(
    'locked by ada since 12:04: maintenance',
  )
})

test('an older lock includes the date, and the comment may be missing', () => {
  expect(lockReason(ADA, lock(new Date(2026, 10, 20, 12, 4), null), NOW)).toBe('locked by ada since 20 Nov, 12:04')
})

test('a team is named as such, and an unknown time is omitted', () => {
  expect(lockReason({ kind: 'team', id: 'team-1', name: 'platform' }, lock(null, 'audit'), NOW)).toBe(
    'locked by team platform: audit',
  )
})
