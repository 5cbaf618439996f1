import { expect, test } from 'vitest'
import { isWideNumber, parseExact } from './exact-json.ts'

test.each([
  '9007199254740993',
  '-12345678901234567890',
  '0.12345678901234567890',
  '3.14159265358979323846264338327950288',
  '1e400',
  '1e-400',
  '1.5E+999',
])('%s keeps its digits', (text) => {
  const parsed = parseExact(`{"a":[${text}]}`) as { a: unknown[] }

  expect(isWideNumber(parsed.a[0])).toBe(true)
  expect(JSON.stringify(parsed)).toBe(`{"a":[${text}]}`)
})

test.each([
  ['0', 0],
  ['-0.0000000000000000000', -0],
  ['9007199254740992', 2 ** 53],
  ['0.1', 0.1],
  ['1.0000000000000000000', 1],
  ['100000000000000000000000', 1e23],
  ['1e100', 1e100],
  ['123456789012345', 123_456_789_012_345],
])('%s is an ordinary number', (text, value) => {
  expect(parseExact(`["1234567890123456",${text}]`)).toEqual(['1234567890123456', value])
})
