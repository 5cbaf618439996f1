import { expect, test } from 'vitest'
import { placeInLine } from './place-in-line.ts'

function placeAt(position: number, status: 'plan_queued' | 'pending' = 'plan_queued') {
  return placeInLine({ status, 'position-in-queue': position }, 2)
}

test('a place in line is counted behind the runs at work, and none is told for a run that does not wait', () => {
  expect([placeAt(0), placeAt(3), placeAt(7)]).toEqual([undefined, 1, 5])
})

test('a place that was read a moment before the runs at work is still the first one', () => {
  expect(placeAt(1)).toBe(1)
})

test('a run that waits for a lock has no place in the line for agents', () => {
  expect(placeAt(3, 'pending')).toBeUndefined()
})
