import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { gathered } from './gathered.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Work whose executions end when the test resolves them. */
function slowWork() {
  const ends: (() => void)[] = []
  return {
    ends,
    work: async () => new Promise<void>((resolve) => void ends.push(resolve)),
  }
}

test('calls close together share one execution', async () => {
  const { ends, work } = slowWork()
  const call = gathered(work)
  call()
  call()
  await vi.advanceTimersByTimeAsync(200)
  call()
  await vi.advanceTimersByTimeAsync(1000)

  expect(ends).toHaveLength(1)
})

test('calls during an execution start another one after it', async () => {
  const { ends, work } = slowWork()
  const call = gathered(work)
  call()
  await vi.advanceTimersByTimeAsync(300)
  for (let i = 0; i < 8; i++) {
    call()
    await vi.advanceTimersByTimeAsync(300)
  }
  const during = ends.length
  ends[0]?.()
  await vi.advanceTimersByTimeAsync(300)

  expect(during).toBe(1)
  expect(ends).toHaveLength(2)
})

test('an execution that hangs delays the next one by a few seconds only', async () => {
  const { ends, work } = slowWork()
  const call = gathered(work)
  call()
  await vi.advanceTimersByTimeAsync(300)
  call()
  await vi.advanceTimersByTimeAsync(6000)

  expect(ends).toHaveLength(2)
})

test('a failed execution does not prevent later ones', async () => {
  let count = 0
  const call = gathered(async () => {
    count += 1
    throw new Error('broken')
  })
  call()
  await vi.advanceTimersByTimeAsync(300)
  call()
  await vi.advanceTimersByTimeAsync(300)

  expect(count).toBe(2)
})
