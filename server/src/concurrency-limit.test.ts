import { expect, test } from 'vitest'
import { sharedLimit } from './concurrency-limit.ts'

const late = () => new Error('late')

test('a call that waits too long is rejected, and leaves its place to the next one', async () => {
  const limited = sharedLimit(1, { ms: 5, error: late })
  const held = Promise.withResolvers<string>()
  const first = limited('a', async () => held.promise)

  await expect(limited('a', async () => 'second')).rejects.toThrow('late')
  const third = limited('a', async () => 'third')
  held.resolve('first')

  expect(await Promise.all([first, third])).toEqual(['first', 'third'])
})

test('the first call of a caller waits for no other caller, its next one does', async () => {
  const limited = sharedLimit(2, { ms: 60_000, error: late })
  const held = Promise.withResolvers<void>()
  const done: string[] = []
  const call = async (caller: string, name: string, until: Promise<void> = Promise.resolve()) =>
    limited(caller, async () => {
      await until
      done.push(name)
    })
  const slow = [call('a', 'a1', held.promise), call('a', 'a2', held.promise), call('a', 'a3')]
  const other = Promise.withResolvers<void>()
  const first = call('b', 'b1', other.promise)
  const second = call('b', 'b2')

  expect(done).toEqual([])
  other.resolve()
  await Promise.all([first, second])
  expect(done).toEqual(['b1', 'b2'])
  held.resolve()
  await Promise.all(slow)

  expect(done).toEqual(['b1', 'b2', 'a1', 'a2', 'a3'])
})
