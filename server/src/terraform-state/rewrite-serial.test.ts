import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { rewriteSerial } from './rewrite-serial.ts'

const rewritten = (text: string, serial: number) => rewriteSerial(Buffer.from(text), serial).toString()

describe('rewriteSerial', () => {
  test('only the digits of the top-level serial change', () => {
    const state = '{\n  "resources": [{"serial": 1, "note": "\\"serial\\": 2"}],\n\t"serial" :  12 ,"x":"serial"}\n\n'

    expect(rewritten(state, 7)).toBe(state.replace('12', '7'))
  })

  test('of a repeated serial, the effective one is rewritten', () => {
    expect(rewritten('{"serial":1,"serial":2}', 30)).toBe('{"serial":1,"serial":30}')
  })

  test('an encrypted envelope is rewritten', () => {
    expect(rewritten('{"encrypted_data":"c2VyaWFs","encryption_version":"v0","serial":9}', 10)).toBe(
      '{"encrypted_data":"c2VyaWFs","encryption_version":"v0","serial":10}',
    )
  })

  test.each([
    ['{"version":4}', '{"serial":7,"version":4}'],
    [' {\n  "version": 4}', ' {"serial":7,\n  "version": 4}'],
    ['{}', '{"serial":7}'],
    ['{"serial":null}', '{"serial":7}'],
    ['{"serial":1.0,"version":4}', '{"serial":7,"version":4}'],
    ['{"serial":1e2}', '{"serial":7}'],
  ])('%s becomes %s', (text, result) => {
    expect(rewritten(text, 7)).toBe(result)
  })

  test.each(['{"serial":"1"}', '{"serial":true}', '{"serial":{}}', '{"serial":1', 'x'])(
    '%s has no serial to rewrite',
    (text) => {
      expect(() => rewritten(text, 1)).toThrow(expect.objectContaining({ kind: 'invalid' }))
    },
  )

  test('all other bytes are kept', () => {
    const key = fc.oneof(fc.string(), fc.constantFrom('serial2', 'Serial', 'version'))
    const value = fc.oneof(fc.jsonValue(), fc.constant({ serial: 5 }), fc.constant('"serial": 5'))
    const before = fc.array(fc.tuple(key, value))
    const serial = fc.nat({ max: Number.MAX_SAFE_INTEGER })
    fc.assert(
      fc.property(before, before, serial, serial, fc.constantFrom('', ' ', '\n  '), (head, tail, from, to, space) => {
        const fields = (list: [string, unknown][]) =>
          list
            .filter(([name]) => name !== 'serial')
            .map(([name, item]) => `${JSON.stringify(name)}:${JSON.stringify(item)}`)
        const prefix = ['{', [...fields(head), '"serial"'].join(`,${space}`), `${space}:${space}`].join(space)
        const suffix = [space, ...fields(tail).map((field) => `,${space}${field}`), `}${space}`].join('')

        const result = rewritten(`${prefix}${from}${suffix}`, to)

        expect(result).toBe(`${prefix}${to}${suffix}`)
      }),
    )
  })
})
