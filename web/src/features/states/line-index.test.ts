import { expect, test } from 'vitest'
import { findRows, lineIndexer, ROW_BYTES, rowTexts } from './line-index.ts'

/** The index of a text that arrives in parts of `size` bytes. */
function indexed(text: string, size = 7) {
  const bytes = new TextEncoder().encode(text)
  const indexer = lineIndexer()
  for (let at = 0; at < bytes.length; at += size) indexer.add(bytes, at, Math.min(at + size, bytes.length))
  return { bytes, index: indexer.finish(bytes.length) }
}

test.each([1, 2, 3, 1000])('the lines of a text are those that it has, in parts of %i bytes', (size) => {
  const { bytes, index } = indexed('{\r\n  "a": "ü",\n\n}\n', size)

  expect(rowTexts(bytes, index, 0, 100)).toEqual(['{', '  "a": "ü",', '', '}'])
  expect([...index.numbers]).toEqual([1, 2, 3, 4])
})

test('a text without a newline at its end has its last line', () => {
  const { bytes, index } = indexed('a\nb')

  expect(rowTexts(bytes, index, 1, 2)).toEqual(['b'])
})

test('rows can be read before the last bytes came, all but the one that may go on', () => {
  const bytes = new TextEncoder().encode('{\n  "a": 1\n}\n')
  const indexer = lineIndexer()
  indexer.add(bytes, 0, 8)

  expect(rowTexts(bytes, indexer.soFar(), 0, 10)).toEqual(['{'])
})

test('a long line is cut into rows with one number, and no character is cut in two', () => {
  const line = 'ü'.repeat(ROW_BYTES)
  const { bytes, index } = indexed(`x${line}\nend`, 333)
  const texts = rowTexts(bytes, index, 0, index.rows)

  expect(texts.slice(0, -1).join('')).toBe(`x${line}`)
  expect([...index.numbers]).toEqual([1, 1, 1, 2])
})

test('a search finds each row once, in small and capital letters', () => {
  const { bytes, index } = indexed('"Name": "name"\n"id"\n"NAME"\n')

  expect([...findRows(bytes, index, 'name')]).toEqual([0, 2])
  expect([...findRows(bytes, index, '')]).toEqual([])
  expect([...findRows(bytes, index, 'absent')]).toEqual([])
})

test('a search in more rows than the first guess counts them all', () => {
  const { bytes, index } = indexed('{"a":1}\n'.repeat(5000), 4096)

  expect(index.rows).toBe(5000)
  expect(findRows(bytes, index, '"a"')).toHaveLength(5000)
})
