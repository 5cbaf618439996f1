import { describe, expect, test } from 'vitest'
import { waitingReason } from './waiting.ts'

const now = new Date('2026-01-01T12:00:00Z')
const task = (name: string, seconds: number) => ({ name, deadline: new Date(now.getTime() + seconds * 1000) })

describe('a run that waits for run tasks', () => {
  test('shows the task and the remaining time', () => {
    const reason = waitingReason(null, { tasks: [task('cost', 252)], now })

    expect(reason).toBe('task cost has not called back, 4:12 left')
  })

  test('lists all tasks, earliest deadline first', () => {
    const tasks = [task('security', 600), task('audit', 600), task('cost', 59)]

    const reason = waitingReason(null, { tasks, now })

    expect(reason).toBe('tasks cost, audit and security have not called back, 0:59 left')
  })

  test('counts tasks beyond the fifth', () => {
    const tasks = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => task(name, 600))

    const reason = waitingReason(null, { tasks, now })

    expect(reason).toBe('tasks a, b, c, d, e and 2 others have not called back, 10:00 left')
  })

  test('has no remaining time after the deadline', () => {
    const reason = waitingReason(null, { tasks: [task('cost', -1)], now })

    expect(reason).toBe('task cost has not called back, 0:00 left')
  })
})

describe('a run that waits for policies', () => {
  const queued = { policies: 'running', policiesQueued: true, poolName: 'cellar', poolIsBuiltIn: false } as const

  test.each([
    [{}, 'no agent of the pool cellar is online to evaluate its policies'],
    [{ agentsOnline: true }, 'no agent of the pool cellar that is online evaluates policies'],
    [{ agentsOnline: true, agentsAccept: true }, 'its policies wait for an agent of the pool cellar'],
    [{ leaseExpiresAt: '2026-01-01T12:00:01Z' }, null],
    [{ policiesQueued: false }, null],
  ])('with %j shows %j', (cause, expected) => {
    expect(waitingReason({ ...queued, ...cause }, { now })).toBe(expected)
  })

  test('and tasks shows both', () => {
    const reason = waitingReason(queued, { tasks: [task('cost', 252)], now })

    expect(reason).toBe(
      'no agent of the pool cellar is online to evaluate its policies; task cost has not called back, 4:12 left',
    )
  })
})

test('a run in a long queue shows a capped count and the run before it', () => {
  const line = { previousRunId: 'run-before', activeRunId: 'run-active' }

  const inLine = (queuePosition: number) => waitingReason({ ...line, queuePosition }, { now })

  expect([0, 1000, 1001].map(inLine)).toEqual([
    '1st in the queue behind run-active',
    '1001st in the queue behind run-before',
    'after more than 1000 others in the queue behind run-before',
  ])
})
