import { expect, test } from 'vitest'
import { concurrencyLimits } from './concurrency-limit.ts'

test('a call that waits too long is rejected, and leaves its place to the next one', async () => {
  const limited = concurrencyLimits(1, { ms: 5, error: () => new Error('late') })
  const held = Promise.withResolvers<string>()
  const first = limited('a', async () => held.promise)

  await expect(limited('a', async () => 'second')).rejects.toThrow('late')
  const third = limited('a', async () => 'third')
  held.resolve('first')

  expect(await Promise.all([first, third])).toEqual(['first', 'third'])
})

test('the calls of one key do not wait for those of another', async () => {
  const limited = concurrencyLimits(1, { ms: 60_000, error: () => new Error('late') })
  const held = Promise.withResolvers<string>()
  const first = limited('a', async () => held.promise)

  const other = await limited('b', async () => 'other')
  held.resolve('first')

  expect([await first, other]).toEqual(['first', 'other'])
})
