import { expect, test, vi } from 'vitest'
import { dropWhenIdle, giveBackIdleMemory } from './idle-memory.ts'

test('a process gives memory back that its start has left, as soon as it is idle', async () => {
  const collect = vi.fn()

  using _ = giveBackIdleMemory(collect)

  expect(collect).not.toHaveBeenCalled()
  await vi.waitFor(() => expect(collect).toHaveBeenCalled(), { timeout: 15_000 })
})

test('caches are emptied before memory is given back', async () => {
  const done: string[] = []
  dropWhenIdle(() => done.push('dropped'))

  using _ = giveBackIdleMemory(() => done.push('collected'))

  await vi.waitFor(() => expect(done).toEqual(['dropped', 'collected']), { timeout: 15_000 })
})
