import { expect, test } from 'vitest'
import { evaluationStyle, resultText } from './policy-text.ts'

const counts = (passed: number, advisory = 0, mandatory = 0, errored = 0) => ({
  passed,
  'advisory-failed': advisory,
  'mandatory-failed': mandatory,
  errored,
})

test('the counts name the most severe results first', () => {
  expect(resultText(counts(3, 1, 2))).toBe('2 mandatory failed, 1 advisory failed, 3 passed')
  expect(resultText(counts(0))).toBe('')
})

test('an evaluation that passed despite an advisory failure is a warning', () => {
  expect(evaluationStyle({ status: 'passed', 'result-count': counts(1, 1) })).toMatchObject({
    tone: 'warn',
    text: '1 advisory failure',
  })
  expect(evaluationStyle({ status: 'passed', 'result-count': counts(2) })).toMatchObject({ tone: 'good' })
})
