import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readStateHeader } from './state-header.ts'

const read = (text: string) => readStateHeader(Buffer.from(text))
/** Beyond the size up to which the whole state is parsed, so that only the scan decides. */
const filler = `"filler": ${JSON.stringify(['x'.repeat(70_000), '"\\[{'.repeat(100)])}`

describe('readStateHeader', () => {
  test('a state of terraform has version, serial and lineage', () => {
    const raw = readFileSync(new URL('./testdata/state-1.json', import.meta.url))

    const header = readStateHeader(raw)

    expect(header).toEqual({
      kind: 'state',
      version: 4,
      terraformVersion: '1.11.4',
      serial: JSON.parse(raw.toString()).serial,
      lineage: JSON.parse(raw.toString()).lineage,
    })
  })

  test('fields are found at any position, and the last of a repeated key counts', () => {
    const header = read(
      `{"lineage":"a", ${filler}, "serial" : 3 ,"resources":[{"serial":9}],"serial":4\n, "version":3}`,
    )

    expect(header).toEqual({ kind: 'state', version: 3, terraformVersion: undefined, serial: 4, lineage: 'a' })
  })

  test('escapes in keys and values are decoded', () => {
    const header = read('{"s\\u0065rial":7,"version":4,"lineage":"\\"x\\\\","terraform_version":"1\\u002e0"}')

    expect(header).toMatchObject({ serial: 7, lineage: '"x\\', terraformVersion: '1.0' })
  })

  test('a missing or null serial is 0 and an empty lineage is none, as in the engine', () => {
    expect(read('{"version":4}')).toMatchObject({ kind: 'state', serial: 0, lineage: undefined })
    expect(read('{"version":4,"serial":null,"lineage":""}')).toMatchObject({ serial: 0, lineage: undefined })
  })

  test("OpenTofu's encrypted envelope is recognised by its ciphertext", () => {
    const header = read(
      '{"serial":5,"lineage":"l","meta":{"key_provider.x":"e30="},"encrypted_data":"AAAA","encryption_version":"v0"}',
    )

    expect(header).toEqual({ kind: 'encrypted', serial: 5, lineage: 'l' })
  })

  test.each([
    ['', 'is empty'],
    [' \n', 'is empty'],
    ['hello', 'is not a JSON object: "h" is at byte 0'],
    ['[]', 'is not a JSON object: "[" is at byte 0'],
    ['\ufeff{"version":4}', 'starts with a byte order mark, but the engine reads only plain UTF-8'],
    ['{"version":4', 'is not valid JSON: a comma or closing brace is expected, but the text ends'],
    ['{"version":4,}', 'is not valid JSON: a key is expected, but "}" is at byte 13'],
    ['{"version":4} x', 'is not valid JSON: nothing may follow the object, but "x" is at byte 14'],
    ['{"version":nope}', `is not valid JSON: "nope" at byte 11 can't be read`],
    ['{"version":}', 'is not valid JSON: a value is expected, but "}" is at byte 11'],
    ['{"version" 4}', 'is not valid JSON: a colon is expected, but "4" is at byte 11'],
    ['{"version":4,"a":[{]}', 'is not valid JSON: brackets do not match at byte 19'],
    ['{"version":4,"a":["x}', 'is truncated: the string that starts at byte 18 does not end'],
    ['{"version":4,"a":[[]', 'is truncated: the value that starts at byte 17 does not end'],
    ['{"hello":"world"}', 'has no version at its top level'],
    ['{"version":"4"}', 'has version "4", but it must be a whole number from 0 to 2^53 - 1'],
    ['{"version":0}', 'has version 0, but formats start at 1'],
    ['{"version":4,"serial":-1}', 'has serial -1, but it must be a whole number from 0 to 2^53 - 1'],
    ['{"version":4,"serial":1.5}', 'has serial 1.5, but it must be a whole number from 0 to 2^53 - 1'],
    ['{"version":4,"lineage":7}', 'has lineage 7, but it must be a string'],
    ['{"encrypted_data":"AAAA"}', 'has no encryption_version'],
    ['{"encryption_version":"v0"}', 'has no encrypted_data'],
  ])('%j is invalid: %s', (text, reason) => {
    expect(read(text)).toEqual({ kind: 'invalid', reason })
  })

  test('a small state is checked as a whole', () => {
    expect(read('{"version":4,"resources":[1,,2]}')).toMatchObject({
      kind: 'invalid',
      reason: expect.stringMatching(/^is not valid JSON: Unexpected token/),
    })
  })

  test('arrays beyond the depth limit of the engine are rejected', () => {
    const header = read(`{"version":4,"resources":${'['.repeat(100_000)}`)

    expect(header).toMatchObject({ reason: expect.stringContaining('is nested deeper than 10000 levels') })
  })
})
