import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { topLevelFields } from './top-level-fields.ts'

describe('topLevelFields', () => {
  const key = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string(),
    fc.constantFrom('serial', 'version', '__proto__', '"', '\\', '\0', ''),
  )
  const value = fc.jsonValue({ stringUnit: 'binary', depthSize: 'medium' })
  const space = fc.constantFrom('', ' ', '\n', '\n  ', '\r\n\t', '          ')
  const indent = fc.constantFrom(undefined, 1, 2, 3, 5, '\t')

  test('agrees with JSON.stringify on any object, layout and memory alignment', () => {
    const fields = fc.array(fc.tuple(key, value), { size: 'small' })
    fc.assert(
      fc.property(fields, space, indent, fc.nat({ max: 7 }), (list, gap, step, offset) => {
        const texts = list.map(([name, item]): [string, string] => [name, JSON.stringify(item, undefined, step)])
        const inner = texts.map(([name, text]) => `${gap}${JSON.stringify(name)}${gap}:${gap}${text}${gap}`)
        const raw = Buffer.from(`${' '.repeat(offset)}${gap}{${inner.join(',')}${gap}}${gap}`).subarray(offset)

        const scanned = topLevelFields(raw)

        if (!scanned.ok) throw new Error(scanned.reason)
        const found = [...scanned.fields].map(([name, { start, end }]) => [name, raw.toString('utf8', start, end)])
        expect(found).toEqual([...new Map(texts)])
      }),
      { numRuns: 500 },
    )
  })

  test('the ends of long strings with escapes are found', () => {
    const parts = fc.array(fc.constantFrom('\\', '"', 'x', 'yz', '{', '\n'), { maxLength: 1200, size: 'max' })
    fc.assert(
      fc.property(parts, (list) => {
        const raw = Buffer.from(JSON.stringify({ a: [list.join('')], b: list.join(''), c: 1 }))

        const scanned = topLevelFields(raw)

        expect(scanned.ok && scanned.fields.get('c')).toEqual({ start: raw.length - 2, end: raw.length - 1 })
      }),
    )
  })

  test('a truncated object is never accepted', () => {
    fc.assert(
      fc.property(
        fc.dictionary(key, value),
        fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        (object, share) => {
          const raw = Buffer.from(JSON.stringify(object))

          const scanned = topLevelFields(raw.subarray(0, Math.floor(raw.length * share)))

          expect(scanned.ok).toBe(false)
        },
      ),
    )
  })
})
