import { zstdCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { packList, unpackList } from './packed-extraction.ts'

const list = (count: number) => JSON.stringify(Array.from({ length: count }, (_, index) => ({ name: `item ${index}` })))

test.each([0, 1, 1000])('a list of %i entries round-trips', (count) => {
  expect(unpackList(packList(list(count))).toString()).toBe(list(count))
})

test('a long list is compressed', () => {
  expect(packList(list(1000)).length).toBeLessThan(list(1000).length / 5)
})

test('a short compressed list is readable', () => {
  expect(unpackList(zstdCompressSync(list(1))).toString()).toBe(list(1))
})
