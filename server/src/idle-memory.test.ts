import { expect, test, vi } from 'vitest'
import { giveBackIdleMemory } from './idle-memory.ts'

test('a process gives memory back that its start has left, as soon as it is idle', async () => {
  const collect = vi.fn()

  using _ = giveBackIdleMemory(collect)

  expect(collect).not.toHaveBeenCalled()
  await vi.waitFor(() => expect(collect).toHaveBeenCalled(), { timeout: 15_000 })
})
