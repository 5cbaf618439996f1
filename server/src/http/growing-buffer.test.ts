import { expect, test } from 'vitest'
import { GrowingBuffer } from './bodies.ts'

const chunks = Array.from({ length: 50 }, (_, index) => Buffer.alloc(40_000, index + 1))
const all = Buffer.concat(chunks)

test.each([undefined, all.length, 1000, 0, 10 * all.length])(
  'pieces are one content, declared with %s bytes',
  (declared) => {
    const content = new GrowingBuffer(declared)

    for (const chunk of chunks) content.add(chunk)

    expect(content.size).toBe(all.length)
    expect(content.whole().equals(all)).toBe(true)
  },
)

test('earlier bytes do not change when more arrive', () => {
  const content = new GrowingBuffer(undefined)
  content.add(Buffer.from('first'))

  const first = content.whole()
  for (const chunk of chunks) content.add(chunk)

  expect(first.toString()).toBe('first')
  expect(content.whole().toString('latin1', 0, 5)).toBe('first')
})

test('an empty buffer has no bytes', () => {
  expect(new GrowingBuffer(1000).whole()).toHaveLength(0)
})
