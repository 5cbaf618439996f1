import { expect, test } from 'vitest'
import { chunksOf, runOptions } from './run-words.ts'
import { runWith } from './testing/run.ts'

test('only what differs from an ordinary run is an option', () => {
  const { attributes } = runWith({
    refresh: false,
    'target-addrs': ['a.b', 'a.c'],
    variables: [{ key: 'region', value: '"eu"' }],
  })

  expect(runOptions(runWith().attributes)).toEqual([])
  expect(runOptions(attributes).map(({ text, values }) => [text, ...values])).toEqual([
    ['without refresh'],
    ['targets', 'a.b', 'a.c'],
    ['variables of this run', 'region = "eu"'],
  ])
})

test('a text of the server names runs and times', () => {
  expect(chunksOf('2nd in line behind run-abcDEF123456 since 2030-01-31T12:00:00.000Z')).toEqual([
    { kind: 'text', text: '2nd in line behind ' },
    { kind: 'run', text: 'run-abcDEF123456' },
    { kind: 'text', text: ' since ' },
    { kind: 'time', text: '2030-01-31T12:00:00.000Z' },
  ])
})
