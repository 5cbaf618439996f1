import { expect, test } from 'vitest'
import { withNotes } from './deliver.ts'

test('notes on an outcome are kept whole after a truncated message', () => {
  const outcome = { status: 'errored', exitCode: 1, message: 'x'.repeat(12_000) } as const

  const { message } = withNotes(outcome, [undefined, 'the state is in /here'])

  expect(message).toHaveLength(10_000)
  expect(message).toMatch(/x\nthe state is in \/here$/)
})
