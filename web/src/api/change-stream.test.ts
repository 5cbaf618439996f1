import { expect, test } from 'vitest'
import { retryDelay } from './change-stream.ts'

test('the first attempts come within two seconds, the later ones within half a minute', () => {
  expect([1, 2, 3, 4, 5, 50].map((failures) => retryDelay(failures, 1))).toEqual([
    2000, 4000, 8000, 16_000, 30_000, 30_000,
  ])
})

test('no attempt comes at once, and not all browsers come at the same time', () => {
  expect([1, 50].map((failures) => retryDelay(failures, 0))).toEqual([1000, 15_000])
})
