import { expect, test } from 'vitest'
import { RawJson, serialise } from './raw-json.ts'

const raw = (text: string) => new RawJson(Buffer.from(text))

test('raw parts stand in the document as they are, byte for byte', () => {
  const document = { a: raw('[1, 2]'), b: { c: 'plain', d: [raw('{"ü":null}'), raw('[]')] } }

  expect(serialise(document).toString()).toBe('{"a":[1, 2],"b":{"c":"plain","d":[{"ü":null},[]]}}')
})

test('a document without raw parts is what JSON.stringify makes of it', () => {
  expect(serialise({ a: [1, 'ü', undefined] }).toString()).toBe('{"a":[1,"ü",null]}')
})

test('a raw part that is serialised by others is its value', () => {
  expect(JSON.stringify({ a: raw('[1, 2]') })).toBe('{"a":[1,2]}')
})
