import { expect, test } from 'vitest'
import { moreOfMessage, runTitle } from './run-title.ts'

test.each([
  { message: 'Larger brokers\n\nSince the queue grows.', title: 'Larger brokers', more: 'Since the queue grows.' },
  { message: '  ', title: 'run-1', more: '' },
  { message: 'Queued manually via the Terraform Enterprise API', title: 'Started without a message', more: '' },
])('a run with the message $message is called $title', ({ message, title, more }) => {
  expect(runTitle({ id: 'run-1', message })).toBe(title)
  expect(moreOfMessage(message)).toBe(more)
})
