import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import * as exactJson from './exact-json.ts'
import { inOlderJavaScript } from './testing/older-javascript.ts'

const olderExactJson = await inOlderJavaScript(() => import('./exact-json.ts'))

describe.each([
  ['in recent versions of JavaScript', exactJson],
  ['in older versions of JavaScript', olderExactJson],
])('%s', (_version, { isSameNumber, isWideNumber, parseExact, printExact }) => {
  test.each([
    '9007199254740993',
    '-12345678901234567890',
    '0.12345678901234567890',
    '0.1000000000000000055',
    '3.14159265358979323846264338327950288',
    '100000000000000000000000',
    '0.00000000000000012',
    '0.00000025',
    '-0.0000001',
    '1e400',
    '1e-400',
    '1.5E+999',
  ])('%s keeps its digits', (text) => {
    for (const document of [`{"a":[${text}]}`, `[1,${text},${text}]`, text]) {
      expect(printExact(parseExact(document))).toBe(document)
    }
    expect(isWideNumber(parseExact(` \n${text} `))).toBe(true)
    expect(isWideNumber(parseExact(`{"a" :\t${text}\r\n}`) && (parseExact(`{"a": ${text} }`) as any).a)).toBe(true)
  })

  test.each([
    ['0', 0],
    ['-0.0000000000000000000', -0],
    ['9007199254740992', 2 ** 53],
    ['0.1', 0.1],
    ['0.14285714285714285', 1 / 7],
    ['1.0000000000000000000', 1],
    ['1e100', 1e100],
    ['123456789012345', 123_456_789_012_345],
  ])('%s is an ordinary number', (text, value) => {
    expect(parseExact(`["1234567890123456",${text}]`)).toEqual(['1234567890123456', value])
  })

  test('digits in strings and keys are unchanged', () => {
    const document = {
      ', 12345678901234567890': 'x,12345678901234567890',
      '\\"': '\\\\": 12345678901234567890, "',
      '1': ',12345678901234567890,',
    }

    expect(parseExact(JSON.stringify(document))).toEqual(document)
    expect(printExact(parseExact(`[12345678901234567890,${JSON.stringify(document)}]`))).toBe(
      `[12345678901234567890,${JSON.stringify(document)}]`,
    )
  })

  test('a name that is special in JavaScript is ordinary', () => {
    const text = '{"__proto__":12345678901234567890,"constructor":{"__proto__":[12345678901234567890]}}'

    expect(printExact(parseExact(text))).toBe(text)
  })

  test.each([
    '{12345678901234567890:1}',
    '{"a":1,12345678901234567890 : 1}',
    '[01234567890123456789]',
    '[12345678901234567890.]',
    '[-12345678901234567890-]',
    '[12345678901234567890,]',
    '[12345678901234567890',
    '[12345678901234567890,"a\\',
    '12345678901234567890 1',
    '"\\',
    '',
  ])('%s is not JSON, with the message of JSON.parse', (text) => {
    const reason = (parse: (text: string) => unknown) => {
      try {
        return parse(text)
      } catch (error) {
        return String(error)
      }
    }

    expect(reason(parseExact)).toMatch(/^SyntaxError/)
    expect(reason(parseExact)).toBe(reason(JSON.parse))
  })

  test("documents whose numbers have the engine's notation round-trip", () => {
    const tail = '0'.repeat(15)
    const integer = fc.bigInt({ max: 10n ** 40n, min: -(10n ** 40n) }).map(String)
    const decimal = fc.tuple(fc.nat(), fc.stringMatching(/^[0-9]{0,40}[1-9]$/)).map(([n, f]) => `${n}.${f}`)
    const number = fc.oneof(fc.integer().map(String), integer, decimal, fc.constant(`-1${tail}`))
    const text = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.tuple(fc.string(), number, fc.constantFrom(',', ']', '"', '\\')).map((parts) => parts.join(',')),
    )
    const document = fc.letrec<{ node: string }>((tie) => ({
      node: fc.oneof(
        { depthSize: 'small' },
        number,
        text.map((value) => JSON.stringify(value)),
        fc.constantFrom('true', 'null'),
        fc.array(tie('node')).map((list) => `[${list.join(',')}]`),
        fc
          .dictionary(
            text.filter((key) => !/^\d+$/.test(key)),
            tie('node'),
          )
          .map((fields) => Object.entries(fields).map(([key, value]) => `${JSON.stringify(key)}:${value}`))
          .map((members) => `{${members.join(',')}}`),
      ),
    })).node
    fc.assert(
      fc.property(document, (written) => {
        expect(printExact(parseExact(written))).toBe(written)
        expect(JSON.parse(JSON.stringify(parseExact(written)))).toEqual(JSON.parse(written))
      }),
    )
  })

  test.each([
    { name: 'a list of long numbers', text: `[${'12345678901234567890,'.repeat(200_000)}"end"]` },
    { name: 'a number with many zeros', text: `[1${'0'.repeat(200_000)}1]` },
    { name: 'a text like it', text: `["x, 1${'0'.repeat(200_000)}1,"]` },
    { name: 'a number below much else', text: `${'['.repeat(4000)}12345678901234567890${']'.repeat(4000)}` },
  ])('$name is parsed quickly', ({ text }) => {
    const begin = performance.now()

    expect(printExact(parseExact(text))).toBe(text)

    expect(performance.now() - begin).toBeLessThan(5000)
  })

  test.each([
    ['12345678901234567890', '12345678901234567890.0', true],
    ['12345678901234567890', '1.234567890123456789E+19', true],
    ['0.0012345678901234567890', '123456789012345678.9e-20', true],
    ['1e400', '10E399', true],
    ['12345678901234567890', '12345678901234567891', false],
    ['12345678901234567890', '-12345678901234567890', false],
    ['12345678901234567890', '1234567890123456789.0', false],
    ['100000000000000000000000', '1e23', true],
    ['0.1000000000000000055', '0.1', false],
  ])('%s and %s are the same number: %s', (one, other, isSame) => {
    expect(isSameNumber(parseExact(one) as number, parseExact(other) as number)).toBe(isSame)
  })

  test('numbers with huge exponents are compared quickly', () => {
    const [one, other] = ['1e1', '2e1'].map((start) => parseExact(start + '0'.repeat(500_000)) as number)
    const begin = performance.now()

    expect([isSameNumber(one ?? 0, one ?? 1), isSameNumber(one ?? 0, other ?? 0)]).toEqual([true, false])

    expect(performance.now() - begin).toBeLessThan(1000)
  })
})

test('outside of printExact an older version of JavaScript writes the nearest double', () => {
  expect(JSON.stringify(olderExactJson.parseExact('[9007199254740993]'))).toBe('[9007199254740992]')
})
