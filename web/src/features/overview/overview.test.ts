import { expect, test } from 'vitest'
import { placeOf } from './overview.ts'

test('a place in line is counted behind the runs at work, and none is told for a run that does not wait', () => {
  expect([placeOf(0, 2), placeOf(3, 2), placeOf(7, 2)]).toEqual([undefined, 1, 5])
})

test('a place that was read a moment before the runs at work is still the first one', () => {
  expect(placeOf(1, 2)).toBe(1)
})
