import { describe, expect, test } from 'vitest'
import { type StageResult, stageResult } from '../runs/stages.ts'

const vote = (
  name: string,
  status: StageResult['status'],
  level: StageResult['enforcement_level'],
  message = '',
): StageResult => ({
  task_name: name,
  status,
  enforcement_level: level,
  message,
})

describe('the result of a stage', () => {
  test.each(['pending', 'running'] as const)('is open while a result is %s, regardless of the others', (status) => {
    expect(stageResult([vote('a', status, 'advisory'), vote('b', 'failed', 'mandatory')])).toBeUndefined()
  })

  test.each([
    ['failed', 'failed'],
    ['errored', 'errored'],
    ['unreachable', 'errored'],
  ] as const)('of a mandatory task that is %s is %s', (status, result) => {
    const votes = [vote('a', 'passed', 'mandatory'), vote('b', status, 'mandatory'), vote('c', 'passed', 'advisory')]

    expect(stageResult(votes)?.status).toBe(result)
  })

  test.each(['failed', 'errored', 'unreachable'] as const)(
    'of an advisory task that is %s is passed, with a warning',
    (status) => {
      const result = stageResult([vote('a', 'passed', 'mandatory'), vote('b', status, 'advisory', 'too big')])

      expect(result?.status).toBe('passed')
      expect(result?.message).toMatch(/^the advisory task b .*: too big$/)
    },
  )

  test('names every mandatory task that did not pass, and no other', () => {
    const votes = [
      vote('a', 'failed', 'mandatory', 'open port'),
      vote('b', 'failed', 'advisory', 'cost'),
      vote('c', 'errored', 'mandatory', 'no callback within 10 minutes'),
    ]

    expect(stageResult(votes)).toEqual({
      status: 'failed',
      message: 'the mandatory task a failed: open port; the mandatory task c errored: no callback within 10 minutes',
    })
  })

  test('ignores canceled tasks', () => {
    expect(stageResult([vote('a', 'canceled', 'advisory')])).toEqual({ status: 'passed', message: null })
    expect(stageResult([])).toEqual({ status: 'passed', message: null })
  })
})
