import { expect, test } from 'vitest'
import { ApiError } from './client.ts'
import { isPassing } from './queries.ts'

test('a broken connection is tried again, and what a proxy answers during a restart', () => {
  const errors = [new TypeError('Failed to fetch'), ...[502, 503, 504].map((status) => new ApiError(status, []))]

  expect(errors.map(isPassing)).toEqual([true, true, true, true])
})

test('an error of the API is final', () => {
  expect([401, 404, 409, 422, 500].map((status) => isPassing(new ApiError(status, [])))).not.toContain(true)
})
