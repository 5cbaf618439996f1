import { expect, test } from 'vitest'
import { queuePosition } from './runs-query.ts'

function positionAt(position: number, status: 'plan_queued' | 'pending' = 'plan_queued') {
  return queuePosition({ status, 'position-in-queue': position }, 2)
}

test('the position does not count running runs, and is undefined for a run outside the queue', () => {
  expect([positionAt(0), positionAt(3), positionAt(7)]).toEqual([undefined, 1, 5])
})

test('a position read before the capacity is at least 1', () => {
  expect(positionAt(1)).toBe(1)
})

test('a run blocked in its workspace is not in the agent queue', () => {
  expect(positionAt(3, 'pending')).toBeUndefined()
})
