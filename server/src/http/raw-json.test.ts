import { expect, test } from 'vitest'
import { RawJson, serialise } from './raw-json.ts'

const raw = (text: string) => new RawJson(Buffer.from(text))

test('raw parts are in the document unchanged, byte for byte', () => {
  const document = { a: raw('[1, 2]'), b: { c: 'plain', d: [raw('{"ü":null}'), raw('[]')] } }

  expect(serialise(document).content.toString()).toBe('{"a":[1, 2],"b":{"c":"plain","d":[{"ü":null},[]]}}')
})

test('a document without raw parts is serialised as by JSON.stringify', () => {
  expect(serialise({ a: [1, 'ü', undefined] }).content.toString()).toBe('{"a":[1,"ü",null]}')
})

test('a raw part serialised by JSON.stringify is its value', () => {
  expect(JSON.stringify({ a: raw('[1, 2]') })).toBe('{"a":[1,2]}')
})

test('equal documents have equal digests', () => {
  const digest = (...parts: [string, string]) => serialise({ first: raw(parts[0]), second: raw(parts[1]) }).digest()

  expect(digest('[1]', '[2]')).toBe(digest('[1]', '[2]'))
  expect(digest('[1]', '[2]')).not.toBe(digest('[2]', '[1]'))
  expect(digest('[1]', '[2]')).not.toBe(serialise({ first: raw('[1]'), third: raw('[2]') }).digest())
})
