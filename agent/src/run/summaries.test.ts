import { describe, expect, test } from 'vitest'
import { readSummary } from './summaries.ts'

function summaryOf(operation: string, changes: object = {}) {
  return { type: 'change_summary', changes: { operation, add: 1, change: 2, import: 3, remove: 4, ...changes } }
}

const of = (phase: 'plan' | 'apply', ...messages: (object | string)[]) => {
  const lines = messages.map((message) => (typeof message === 'string' ? message : JSON.stringify(message)))
  return readSummary(Buffer.from(`not json\n${lines.join('\n')}\n`), phase)
}

describe('the summary of a phase', () => {
  test.each([
    ['plan', 'plan'],
    ['apply', 'apply'],
    ['apply', 'destroy'],
  ] as const)('is read from the message of the engine: %s, %s', (phase, operation) => {
    const counts = { additions: 1, changes: 2, destructions: 4, imports: 3 }

    expect(of(phase, summaryOf(operation), { type: 'outputs' })).toEqual(counts)
  })

  test.each<[string, object | string]>([
    [
      'the output of a provisioner',
      { type: 'provision_progress', hook: { output: JSON.stringify(summaryOf('apply')) } },
    ],
    ['another operation', summaryOf('plan')],
    ['a line of text', `one (local-exec): ${JSON.stringify(summaryOf('apply'))}`],
    ['numbers that are none', summaryOf('apply', { add: 99_999_999_999 })],
    ['the human-readable summary', 'Apply complete! Resources: 9 added, 9 changed, 9 destroyed.'],
  ])('is not read from %s', (_, message) => {
    expect(of('apply', message)).toBeUndefined()
  })
})
