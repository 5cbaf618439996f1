import { expect, test } from 'vitest'
import { countsText, omittedText } from './trials.ts'

test('the counts of a trial name the most severe results first', () => {
  const none = { total: 0, evaluated: 0, passed: 0, warned: 0, stopped: 0, errored: 0 }

  expect(countsText({ ...none, passed: 5, warned: 1, stopped: 2, errored: 1 })).toBe(
    '2 would be stopped, 1 not evaluated, 1 warning, 5 passed',
  )
  expect(countsText(none)).toBe('')
})

test('runs that are left out are counted by reason', () => {
  expect(omittedText({ unreadable: 2, 'without-plan': 1, older: 3 })).toBe(
    '3 older runs, 1 run without a plan, 2 runs whose plan you may not read',
  )
  expect(omittedText({ unreadable: 0, 'without-plan': 0, older: 0 })).toBe('')
})
