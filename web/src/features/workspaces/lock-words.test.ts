import { expect, test } from 'vitest'
import { lockReason } from './lock-words.ts'

const ADA = { kind: 'user', id: 'user-1', name: 'ada' } as const
const NOW = new Date(2026, 10, 22, 15, 0)

function lock(at: Date | null, reason: string | null) {
  return { 'locked-at': at?.toISOString() ?? null, 'locked-reason': reason }
}

test('a lock of today names who, since when and why', () => {
  expect(lockReason(ADA, lock(new Date(2026, 10, 22, 12, 4), 'maintenance'), NOW)).toBe(
    'locked by ada since 12:04: maintenance',
  )
})

test('an older lock names the day, and one without a reason says none', () => {
  expect(lockReason(ADA, lock(new Date(2026, 10, 20, 12, 4), null), NOW)).toBe('locked by ada since 20 Nov, 12:04')
})

test('a team is called a team, and an unknown time is left out', () => {
  expect(lockReason({ kind: 'team', id: 'team-1', name: 'platform' }, lock(null, 'audit'), NOW)).toBe(
    'locked by the team platform: audit',
  )
})
