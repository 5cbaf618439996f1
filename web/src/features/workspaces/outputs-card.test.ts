import { expect, test } from 'vitest'
import { shortened } from '../../components/collapsed-text.tsx'
import { outputText, typeText } from './outputs-card.tsx'

test('a string is shown as is, anything else as JSON', () => {
  expect(outputText('a\nb')).toBe('a\nb')
  expect(outputText({ a: [1] })).toBe('{\n  "a": [\n    1\n  ]\n}')
  expect(outputText(null)).toBe('null')
})

test.each([
  ['string', 'string'],
  [['list', 'string'], 'list(string)'],
  [['map', ['set', 'number']], 'map(set(number))'],
  [['object', { a: 'string' }], 'object'],
  [['tuple', ['string']], 'tuple'],
  [null, 'array'],
])('the type %j is written as %s', (detailed, text) => {
  expect(typeText(detailed, 'array')).toBe(text)
})

test('a text of many lines, or of one long line, is shortened', () => {
  expect(shortened('a\nb', 4)).toBeUndefined()
  expect(shortened('1\n2\n3\n4\n5', 4)).toEqual({ start: '1\n2\n3\n4', lines: 5 })
  expect(shortened('x'.repeat(301), 4)).toEqual({ start: 'x'.repeat(300), lines: 1 })
})
