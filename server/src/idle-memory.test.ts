import { expect, test, vi } from 'vitest'
import { dropWhenIdle, giveBackIdleMemory } from './idle-memory.ts'

test('a process returns the memory of its start once it is idle', async () => {
  const collect = vi.fn()

  using _ = giveBackIdleMemory(collect)

  expect(collect).not.toHaveBeenCalled()
  await vi.waitFor(() => expect(collect).toHaveBeenCalled(), { timeout: 15_000 })
})

test('caches are cleared before memory is returned', async () => {
  const done: string[] = []
  dropWhenIdle(() => done.push('dropped'))

  using _ = giveBackIdleMemory(() => done.push('collected'))

  await vi.waitFor(() => expect(done).toEqual(['dropped', 'collected']), { timeout: 15_000 })
})
