import { zstdCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { packList, unpackList } from './packed-extraction.ts'

const list = (count: number) => JSON.stringify(Array.from({ length: count }, (_, index) => ({ name: `item ${index}` })))

test.each([0, 1, 1000])('a list of %i entries comes back as it was', (count) => {
  expect(unpackList(packList(list(count))).toString()).toBe(list(count))
})

test('a long list is kept compressed', () => {
  expect(packList(list(1000)).length).toBeLessThan(list(1000).length / 5)
})

test('a short list that was kept compressed is read too', () => {
  expect(unpackList(zstdCompressSync(list(1))).toString()).toBe(list(1))
})
