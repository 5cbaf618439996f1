import { parseExact } from '@groundstate/contract/exact-json'
import { describe, expect, test } from 'vitest'
import { attributeChanges, type PlannedChange } from './attribute-changes.ts'

/** The changed attributes as one line each: `path: before -> after`. */
function lines(change: Partial<PlannedChange>) {
  return attributeChanges({ actions: ['update'], ...change }).changed.map(
    ({ path, before, after, forcesReplacement, movedTo }) =>
      [
        `${path}: ${text(before)} -> ${text(after)}`,
        ...(forcesReplacement ? ['forces replacement'] : []),
        ...(movedTo === undefined ? [] : [`moves to ${movedTo}`]),
      ].join(', '),
  )
}
function text(side: ReturnType<typeof attributeChanges>['changed'][number]['before']) {
  return side.kind === 'value' ? (side.isText ? `"${side.text}"` : side.text) : side.kind
}

describe('the attributes of a change', () => {
  test('are flattened to paths, with the unchanged ones separate', () => {
    const change = {
      before: { a: 1, tags: { env: 'test', 'odd key': true }, same: 'x' },
      after: { a: 2, tags: { env: 'prod', 'odd key': false }, same: 'x' },
    }

    expect(lines(change)).toEqual(['a: 1 -> 2', 'tags.env: "test" -> "prod"', 'tags["odd key"]: true -> false'])
    expect(attributeChanges({ actions: [], ...change }).unchanged.map(({ path }) => path)).toEqual(['same'])
  })

  test('that are null are unset, but items of lists are not', () => {
    expect(lines({ before: { a: null, list: ['x'] }, after: { a: 'set', b: null, list: ['x', null] } })).toEqual([
      'a: absent -> "set"',
      'list[1]: absent -> null',
    ])
  })

  test('may be unknown, also in lists and maps; null is not unknown', () => {
    expect(
      lines({
        before: { id: 'i-1', map: { a: '1', b: '2' }, list: ['x', 'y'], none: 'z' },
        after: { map: { a: '1' }, list: ['x', null], none: null },
        after_unknown: { id: true, map: { b: true }, list: [false, true] },
      }),
    ).toEqual(['id: "i-1" -> unknown', 'map.b: "2" -> unknown', 'list[1]: "y" -> unknown', 'none: "z" -> absent'])
  })

  test('of a new resource include those known after apply', () => {
    expect(
      lines({ before: null, after: { input: { a: 1 }, empty: [], no: {} }, after_unknown: { id: true, input: {} } }),
    ).toEqual(['input.a: absent -> 1', 'empty: absent -> []', 'no: absent -> {}', 'id: absent -> unknown'])
  })

  test('are masked if either side is sensitive', () => {
    expect(
      lines({
        before: {
          password: '(sensitive value)',
          nested: { token: '(sensitive value)', open: 1 },
          kept: '(sensitive value)',
        },
        after: {
          password: '(changed sensitive value)',
          nested: { token: '(changed sensitive value)', open: 2 },
          kept: '(sensitive value)',
        },
        before_sensitive: { password: true, kept: true },
        after_sensitive: { password: true, nested: { token: true }, kept: true },
      }),
    ).toEqual(['password: sensitive -> sensitive', 'nested.token: sensitive -> sensitive', 'nested.open: 1 -> 2'])
  })

  test('that are sensitive as a whole show no members', () => {
    expect(lines({ before: null, after: { map: { a: 'open?' } }, after_sensitive: { map: true } })).toEqual([
      'map: absent -> sensitive',
    ])
  })

  test('that force replacement are marked, including their members', () => {
    expect(
      lines({
        before: { triggers: ['a'], name: 'x' },
        after: { triggers: ['b'], name: 'y' },
        replace_paths: [['triggers', 0]],
      }),
    ).toEqual(['triggers[0]: "a" -> "b", forces replacement', 'name: "x" -> "y"'])
  })

  test('keep the digits of large numbers', () => {
    const before = parseExact('{"n":9007199254740993}')
    const after = parseExact('{"n":9007199254740995}')

    expect(lines({ before, after })).toEqual(['n: 9007199254740993 -> 9007199254740995'])
  })

  test('that contain JSON are compared by its members', () => {
    const policy = (action: string) => JSON.stringify({ Statement: [{ Action: action, Effect: 'Allow' }] })

    expect(lines({ before: { policy: policy('s3:Get') }, after: { policy: policy('s3:Put') } })).toEqual([
      'policy.Statement[0].Action: "s3:Get" -> "s3:Put"',
    ])
  })

  test.each([
    ['{"a":1,"b":[]}', '{ "b": [], "a": 1 }', true],
    ['{"a":{}}', '{"a": {} }', true],
    // A policy may distinguish a null member from a missing one.
    ['{"a":null}', '{}', undefined],
  ])('that contain the JSON %s and then %s are shown whole', (before, after, isFormattingOnly) => {
    const { changed } = attributeChanges({ actions: [], before: { policy: before }, after: { policy: after } })

    expect(changed).toHaveLength(1)
    expect(changed[0]).toMatchObject({ path: 'policy', before: { text: before }, after: { text: after } })
    expect(changed[0]?.isFormattingOnly).toBe(isFormattingOnly)
  })

  test('that contain JSON keep the digits of its numbers', () => {
    const [before, after] = ['{"id":9007199254740992}', '{"id":9007199254740993}']

    expect(lines({ before: { text: before }, after: { text: after } })).toEqual([
      'text.id: 9007199254740992 -> 9007199254740993',
    ])
  })

  test('with several lines are compared line by line', () => {
    const { changed } = attributeChanges({ actions: [], before: { t: 'a\nb\nc' }, after: { t: 'a\nB\nc' } })

    expect(changed[0]?.lines?.map(({ sign, text }) => sign + text)).toEqual([' a', '−b', '+B', ' c'])
  })

  test('that change their type are shown whole', () => {
    expect(lines({ before: { a: [1], b: 'x' }, after: { a: { k: 1 }, b: 5 } })).toEqual([
      'a: [\n  1\n] -> {\n  "k": 1\n}',
      'b: "x" -> 5',
    ])
  })
})

describe('the items of a list', () => {
  test('are not listed if another is inserted before them', () => {
    expect(lines({ before: { l: ['a', 'b', 'c'] }, after: { l: ['x', 'a', 'b', 'c'] } })).toEqual([
      'l[0]: absent -> "x"',
    ])
  })

  test('move if only their index changes', () => {
    expect(lines({ before: { l: ['a', 'b', 'c'] }, after: { l: ['b', 'c', 'a'] } })).toEqual([
      'l[0]: "a" -> "a", moves to [2]',
    ])
  })

  test('that are blocks are compared by index', () => {
    expect(
      lines({ before: { ingress: [{ port: 80, proto: 'tcp' }] }, after: { ingress: [{ port: 443, proto: 'tcp' }] } }),
    ).toEqual(['ingress[0].port: 80 -> 443'])
  })

  test('of long lists are compared quickly', () => {
    const before = { l: Array.from({ length: 20_000 }, (_, index) => `a${index}`) }
    const after = { l: Array.from({ length: 20_000 }, (_, index) => `b${index}`) }
    const begin = performance.now()

    const changed = lines({ before, after })

    expect(changed).toHaveLength(20_000)
    expect(performance.now() - begin).toBeLessThan(3000)
  })
})
