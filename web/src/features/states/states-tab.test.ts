import { expect, test } from 'vitest'
import { countChange, countLine } from './states-tab.tsx'

test('the sections of neighbouring rows meet halfway', () => {
  const upper = countLine({ newer: undefined, own: 4, older: 2 }, 4)
  const lower = countLine({ newer: 4, own: 2, older: undefined }, 4)

  expect(upper).toBe('100,50 75,100')
  expect(lower).toBe('75,0 50,50')
})

test('a row without a count interrupts the line', () => {
  expect(countLine({ newer: 1, own: undefined, older: 1 }, 4)).toBe('')
  expect(countLine({ newer: undefined, own: 4, older: undefined }, 4)).toBe('100,50')
})

test('counts of zero are a straight line', () => {
  expect(countLine({ newer: 0, own: 0, older: 0 }, 0)).toBe('0,0 0,50 0,100')
})

test('the change of a count has a sign unless it is zero', () => {
  expect(countChange({ newer: undefined, own: 1200, older: 0 })).toBe('+1,200')
  expect(countChange({ newer: undefined, own: 1, older: 3 })).toBe('−2')
  expect(countChange({ newer: undefined, own: 3, older: 3 })).toBeUndefined()
  expect(countChange({ newer: undefined, own: 3, older: undefined })).toBeUndefined()
})
