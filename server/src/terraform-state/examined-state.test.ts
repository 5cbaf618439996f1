import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parseExact } from '@groundstate/contract/exact-json'
import { describe, expect, test } from 'vitest'
import { examineState, parseState } from './examined-state.ts'
import { extractState } from './extraction.ts'
import { packedExtraction } from './packed-extraction.ts'
import { readStateHeader } from './state-header.ts'

const testdata = (name: string) => readFileSync(new URL(`testdata/${name}.json`, import.meta.url))

describe('examineState', () => {
  test.each(['state-1', 'state-2'])('returns for %s the same as its parts', (name) => {
    const raw = testdata(name)

    expect(examineState(raw)).toEqual({
      md5: hash('md5', raw),
      header: readStateHeader(raw),
      extraction: packedExtraction(extractState(parseExact(raw.toString()))),
    })
  })

  test.each([
    ['an encrypted one', '{"serial":1,"lineage":"l","encryption_version":"v0","encrypted_data":"x"}', 'encrypted'],
    ['one of another format', '{"version":9}', 'state'],
    ['a damaged one', '{"version":4,', 'invalid'],
    ['one with invalid attributes', `{"version":4,"resources":[${resource('[{"attributes":5}]')}]}`, 'state'],
  ])('of %s, nothing is extracted', (_, text, kind) => {
    expect(examineState(Buffer.from(text))).toMatchObject({ header: { kind }, extraction: null })
  })

  test('nothing is extracted from a large state that is damaged inside', () => {
    const raw = Buffer.from(`{"version":4,"padding":"${'x'.repeat(70_000)}","resources":[1 2]}`)

    expect(examineState(raw)).toMatchObject({ header: { kind: 'state' }, extraction: null })
  })
})

describe('parseState', () => {
  test.each([
    ['4', '{"version":4,"outputs":{"id":{"value":12345678901234567890}}}'],
    ['3', '{"version":3,"modules":[{"path":["root"],"outputs":{"id":{"value":12345678901234567890}}}]}'],
  ])('keeps every digit of an output of format %s', (_, text) => {
    expect(extractState(parseState(Buffer.from(text))).outputs).toMatchObject([{ json: '12345678901234567890' }])
  })
})

function resource(instances: string) {
  return `{"mode":"managed","type":"a","name":"b","provider":"p","instances":${instances}}`
}
