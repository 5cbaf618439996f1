import { describe, expect, test } from 'vitest'
import type { AppError } from '../errors.ts'
import {
  boolean,
  count,
  exactList,
  exactText,
  listOf,
  oneOf,
  queryParser,
  REFUSAL,
  requiredText,
  sortBy,
  text,
  textList,
  time,
} from './query.ts'

const parse = queryParser({
  q: text(),
  names: textList(),
  sources: exactList(),
  status: oneOf(['open', 'closed']),
  groups: listOf(['a', 'b', 'c']),
  locked: boolean(),
  since: time(),
  offset: count(),
  sort: sortBy(['name', 'created-at'], '-created-at'),
  'filter[tagged][0][key]': exactText(),
})
const NOTHING = {
  q: undefined,
  names: undefined,
  sources: undefined,
  status: undefined,
  groups: undefined,
  locked: undefined,
  since: undefined,
  offset: undefined,
  sort: { name: 'created-at', descending: true },
  'filter[tagged][0][key]': new Map(),
}

describe('a query', () => {
  test.each(['names', 'sources', 'groups'])('has at most 1000 items in a list: %s', (name) => {
    const list = Array(1001).fill('a').join()

    expect(() => parse({ [name]: list })).toThrow(`${name} has 1001 items; it must have at most 1000`)
  })

  test('without parameters has the defaults', () => {
    expect(parse({})).toEqual(NOTHING)
  })

  test('with empty and unknown parameters has the defaults too', () => {
    const empty = Object.fromEntries(Object.keys(NOTHING).map((name) => [name, ' ']))

    expect(parse({ ...empty, 'filter[tagged][0][key]': [], other: 'x', __proto__: 'x' })).toEqual({
      ...NOTHING,
      'filter[tagged][0][key]': new Map([['0', undefined]]),
    })
  })

  test.each([
    ['q', [' first', ' last '], 'last'],
    ['names', ['b,,a ', 'c'], ['b', 'a', 'c']],
    ['sources', ['x', 'b,, a'], ['b', '', 'a']],
    ['status', 'closed', 'closed'],
    ['groups', 'c, a,c', ['a', 'c']],
    ['locked', ['true', 'false'], false],
    ['since', '2030-01-31', new Date('2030-01-31T00:00:00Z')],
    ['since', '2030-01-31T12:00:00+02:00', new Date('2030-01-31T10:00:00Z')],
    ['offset', '12', 12],
    ['offset', '-1', undefined],
    ['sort', 'name', { name: 'name', descending: false }],
    ['sort', '-name', { name: 'name', descending: true }],
  ])('with %s %j has %j', (name, given, parsed) => {
    expect(parse({ [name]: given })).toEqual({ ...NOTHING, [name]: parsed })
  })

  test('parses an indexed parameter once per index', () => {
    const given = {
      'filter[tagged][1][key]': ['x', ' b '],
      'filter[tagged][][key]': '',
      'filter[tagged][__proto__][key]': 'c',
      'filter[tagged][a-b][key]': 'd',
      'filter[tagged][key]': 'd',
      'filter[tagged][1][value]': 'e',
    }

    expect(parse(given)['filter[tagged][0][key]']).toEqual(
      new Map([
        ['1', ' b '],
        ['', ''],
        ['__proto__', 'c'],
      ]),
    )
  })

  test.each([
    ['status', 'constructor', 'status is "constructor"; it must be one of open, closed'],
    ['groups', 'a,,b', 'groups has ""; it must be one of a, b, c'],
    ['locked', 'yes', 'locked is "yes"; it must be true or false'],
    ['since', '2030-02-31', 'since is "2030-02-31"; it must be a time such as 2030-01-31T12:00:00.000Z'],
    ['sort', '--name', 'sort is "--name"; it must be one of name, created-at, or one with a - before it'],
  ])('with %s %j is rejected', (name, given, detail) => {
    expect(refusalOf(parse, { [name]: given })).toMatchObject({
      kind: 'invalid',
      parts: [{ detail, source: { parameter: name } }],
    })
  })

  test('lacks a required parameter, also when it is empty', () => {
    const parse = queryParser({
      id: requiredText('is missing: the id of a team').register(REFUSAL, { kind: 'bad-request' }),
    })
    const refusal = {
      kind: 'bad-request',
      parts: [{ detail: 'id is missing: the id of a team', source: { parameter: 'id' } }],
    }

    expect(refusalOf(parse, {})).toMatchObject(refusal)
    expect(refusalOf(parse, { id: ' ' })).toMatchObject(refusal)
    expect(parse({ id: ' team-1 ' })).toEqual({ id: 'team-1' })
  })
})

function refusalOf(parse: (given: Record<string, unknown>) => unknown, given: Record<string, unknown>): AppError {
  try {
    parse(given)
  } catch (error) {
    return error as AppError
  }
  throw new Error('the query is taken')
}
