import { expect, test } from 'vitest'
import { errorInLog } from './failure-reason.ts'

test('the first error of structured output is shown with its location', () => {
  const log = [
    '{"@level":"info","@message":"an \\"error\\" is no level","type":"log"}',
    '{"@level":"error","@message":"Error: Invalid index","diagnostic":{"severity":"error","summary":"Invalid index","range":{"filename":"main.tf","start":{"line":12}}}}',
    '{"@level":"error","@message":"Error: Another one"}',
  ]

  expect(errorInLog(log.join('\n'))).toBe('Invalid index (main.tf line 12)')
})

test('the first error of a text log is shown without its frame and colours, with its location', () => {
  const log =
    'Planning…\n\u001B[31m╷\n\u001B[31m│\u001B[0m \u001B[1m\u001B[31mError: \u001B[0m\u001B[1mUnsupported argument\u001B[0m\n'
  const place =
    '\u001B[31m│\u001B[0m\n\u001B[31m│\u001B[0m \u001B[0m on main.tf line 2, in resource "terraform_data" "a":\n'

  expect(errorInLog(log)).toBe('Unsupported argument')
  expect(errorInLog(log + place)).toBe('Unsupported argument (main.tf line 2)')
})

test('a log without an error, or with a truncated line, has no error', () => {
  expect(errorInLog('')).toBeNull()
  expect(errorInLog('{"@level":"error","@mess')).toBeNull()
})
