import { expect, test } from 'vitest'
import { byteSize, counted } from './numbers.ts'
import { relativeTime, duration } from './time.tsx'

test.each([
  [0, '0 resources'],
  [1, '1 resource'],
  [1204, '1,204 resources'],
])('%d is shown as %s', (count, text) => {
  expect(counted(count, 'resource')).toBe(text)
})

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1200, '1.2 KB'],
  [52_428_800, '52.4 MB'],
  [314_000_000, '314 MB'],
])('%d bytes are %s', (bytes, text) => {
  expect(byteSize(bytes)).toBe(text)
})

test.each([
  [900, '1 s'],
  [60_000, '1 min'],
  [125_000, '2 min 5 s'],
  [3_780_000, '1 h 3 min'],
  [260_000_000, '3 d 0 h'],
])('%d ms are %s', (ms, text) => {
  expect(duration(ms)).toBe(text)
})

test.each([
  [-5000, 'just now'],
  [5000, 'just now'],
  [-180_000, '3 min. ago'],
  [-90_000_000, 'yesterday'],
  [7_200_000, 'in 2 hr.'],
  [3_595_000, 'in 1 hr.'],
  [14 * 86_400_000 - 5000, 'in 14 days'],
  [90 * 86_400_000 - 5000, 'in 90 days'],
  [365 * 86_400_000 - 5000, 'in 12 mo.'],
  [-40 * 86_400_000, '40 days ago'],
])('%d ms from now are %s', (ms, text) => {
  expect(relativeTime(ms)).toBe(text)
})
