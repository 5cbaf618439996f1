import { expect, test } from 'vitest'
import { retryDelay } from './change-stream.ts'

test('the first retry is within two seconds, later ones within half a minute', () => {
  expect([1, 2, 3, 4, 5, 50].map((failures) => retryDelay(failures, 1))).toEqual([
    2000, 4000, 8000, 16_000, 30_000, 30_000,
  ])
})

test('retries are never immediate, and differ between browsers', () => {
  expect([1, 50].map((failures) => retryDelay(failures, 0))).toEqual([1000, 15_000])
})
