import { expect, test } from 'vitest'
import { textSegments, messageBody, runOptions, runTitle } from './run-text.ts'
import { runWith } from './testing/run.ts'

test.each([
  { message: 'Larger brokers\n\nSince the queue grows.', title: 'Larger brokers', body: 'Since the queue grows.' },
  { message: '  ', title: 'run-1', body: '' },
  { message: 'Queued manually via the Terraform Enterprise API', title: 'Queued manually', body: '' },
])('the title of the message $message is $title', ({ message, title, body }) => {
  expect(runTitle({ id: 'run-1', message })).toBe(title)
  expect(messageBody(message)).toBe(body)
})

test('options are listed only if they differ from the defaults', () => {
  const { attributes } = runWith({
    refresh: false,
    'target-addrs': ['a.b', 'a.c'],
    variables: [{ key: 'region', value: '"eu"' }],
  })

  expect(runOptions(runWith().attributes)).toEqual([])
  expect(runOptions(attributes).map(({ text, values }) => [text, ...values])).toEqual([
    ['no refresh'],
    ['targets', 'a.b', 'a.c'],
    ['run variables', 'region = "eu"'],
  ])
})

test('a server message is split at run IDs and times', () => {
  expect(textSegments('2nd in the queue behind run-abcDEF123456 since 2030-01-31T12:00:00.000Z')).toEqual([
    { kind: 'text', text: '2nd in the queue behind ' },
    { kind: 'run', text: 'run-abcDEF123456' },
    { kind: 'text', text: ' since ' },
    { kind: 'time', text: '2030-01-31T12:00:00.000Z' },
  ])
})
