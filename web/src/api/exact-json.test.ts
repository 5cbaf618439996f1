import { expect, test } from 'vitest'
import { isExactNumber, parseExactly } from './exact-json.ts'

test('a number beyond 2^53 is kept as it was written, and is sent so', () => {
  const parsed = parseExactly('{"a":9007199254740993,"b":[1,0.1]}') as { a: unknown; b: number[] }

  expect(isExactNumber(parsed.a) && parsed.a.rawJSON).toBe('9007199254740993')
  expect(parsed.b).toEqual([1, 0.1])
  expect(JSON.stringify(parsed)).toBe('{"a":9007199254740993,"b":[1,0.1]}')
})

test('long numbers that a double holds, and digits in texts, stay what they are', () => {
  expect(parseExactly('[1000000000000000,"9007199254740993"]')).toEqual([1_000_000_000_000_000, '9007199254740993'])
})
