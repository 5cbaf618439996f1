import { expect, test } from 'vitest'
import { findRows, lineIndexer, MAX_ROW_BYTES, rowTexts } from './line-index.ts'

/** Indexes a text that arrives in chunks of `size` bytes. */
function indexed(text: string, size = 7) {
  const bytes = new TextEncoder().encode(text)
  const indexer = lineIndexer()
  for (let at = 0; at < bytes.length; at += size) indexer.add(bytes, at, Math.min(at + size, bytes.length))
  return { bytes, index: indexer.finish(bytes.length) }
}

test.each([1, 2, 3, 1000])('lines are indexed in chunks of %i bytes', (size) => {
  const { bytes, index } = indexed('{\r\n  "a": "ü",\n\n}\n', size)

  expect(rowTexts(bytes, index, 0, 100)).toEqual(['{', '  "a": "ü",', '', '}'])
  expect([...index.numbers]).toEqual([1, 2, 3, 4])
})

test('the last line does not need a newline', () => {
  const { bytes, index } = indexed('a\nb')

  expect(rowTexts(bytes, index, 1, 2)).toEqual(['b'])
})

test('a snapshot contains the complete rows', () => {
  const bytes = new TextEncoder().encode('{\n  "a": 1\n}\n')
  const indexer = lineIndexer()
  indexer.add(bytes, 0, 8)

  expect(rowTexts(bytes, indexer.snapshot(), 0, 10)).toEqual(['{'])
})

test('a long line is split into rows with one number, but not within a character', () => {
  const line = 'ü'.repeat(MAX_ROW_BYTES)
  const { bytes, index } = indexed(`x${line}\nend`, 333)
  const texts = rowTexts(bytes, index, 0, index.rows)

  expect(texts.slice(0, -1).join('')).toBe(`x${line}`)
  expect([...index.numbers]).toEqual([1, 1, 1, 2])
})

test('a search is case-insensitive and returns each row once', () => {
  const { bytes, index } = indexed('"Name": "name"\n"id"\n"NAME"\n')

  expect([...findRows(bytes, index, 'name')]).toEqual([0, 2])
  expect([...findRows(bytes, index, '')]).toEqual([])
  expect([...findRows(bytes, index, 'absent')]).toEqual([])
})

test('the index grows beyond its initial size', () => {
  const { bytes, index } = indexed('{"a":1}\n'.repeat(5000), 4096)

  expect(index.rows).toBe(5000)
  expect(findRows(bytes, index, '"a"')).toHaveLength(5000)
})
