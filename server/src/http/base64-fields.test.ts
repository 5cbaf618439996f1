import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { parseBase64Fields } from './base64-fields.ts'

const content = randomBytes(100_000)
const text = content.toString('base64')
const parse = async (json: string) => parseBase64Fields(Buffer.from(json), ['state', 'other'])

test('long base64 attributes are decoded, other values are unchanged', async () => {
  const body = {
    data: { attributes: { serial: 1, note: 'é "quoted" \\', state: text, md5: 'x', more: text } },
    state: 'AAAA',
  }

  const { state, ...rest } = body.data.attributes

  expect(await parse(JSON.stringify(body, null, 2))).toEqual({
    data: { attributes: { ...rest, state: Buffer.from(state, 'base64') } },
    state: 'AAAA',
  })
})

test.each([0, 1, 2])('any length is decoded, padded or not: %i more bytes', async (more) => {
  const long = randomBytes(60_000 + more)
  const padded = long.toString('base64')

  expect(await parse(JSON.stringify({ state: padded, other: padded.replace(/=+$/, '') }))).toEqual({
    state: long,
    other: long,
  })
  expect(await parse(JSON.stringify({ state: long.toString('base64url') }))).toEqual({ state: long })
})

test.each([
  ['a character outside of base64', `${text.slice(0, 50_000)}!${text.slice(50_001)}`],
  ['white space', `${text.slice(0, 50_000)} ${text.slice(50_000)}`],
  ['padding in the middle', `${text.slice(0, 50_000)}==${text.slice(50_000)}`],
  ['too much padding', `${text}====`],
  ['an impossible length', text.slice(0, 50_001)],
  ['an escape', `${text}\n`],
  ['letters of other alphabets', 'ж'.repeat(50_000)],
])('a text with %s is unchanged', async (_, odd) => {
  expect(await parse(JSON.stringify({ state: odd }))).toEqual({ state: odd })
})

test('a long text is a field only directly after its name', async () => {
  const bodies = [
    { [text]: 1 },
    { state: 1, [text]: text },
    { state: [text] },
    ['state', text],
    { state: 'other', [`state${text}`]: text },
    text,
  ]

  for (const body of bodies) expect(await parse(JSON.stringify(body))).toEqual(body)
})

test.each([
  ['a missing bracket', `{"state":"${text}"`],
  ['an unclosed text', `{"state":"${text}`],
  ['a line break within a text', `{"state":"${text}","other":"\n"}`],
  ['two values', `{"state":"${text}"} 1`],
])('%s is reported as by JSON.parse', async (_, json) => {
  const errorOf = async (work: () => unknown) => {
    try {
      return await work()
    } catch (error) {
      return String(error)
    }
  }

  expect(await errorOf(async () => parse(json))).toBe(await errorOf(() => JSON.parse(json)))
})
