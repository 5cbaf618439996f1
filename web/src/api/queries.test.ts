import { isWideNumber, parseExact } from '@groundstate/contract/exact-json'
import { replaceEqualDeep } from '@tanstack/react-query'
import { expect, test } from 'vitest'
import { ApiError } from './client.ts'
import { failureOf, isTransient } from './queries.ts'

test('a broken connection and a proxy’s response during a restart are transient', () => {
  const errors = [new TypeError('Failed to fetch'), ...[502, 503, 504].map((status) => new ApiError(status, []))]

  expect(errors.map(isTransient)).toEqual([true, true, true, true])
})

test('an error of the API is final', () => {
  expect([401, 404, 409, 422, 500].map((status) => isTransient(new ApiError(status, [])))).not.toContain(true)
})

const refetch = async () => {}
const broken = new TypeError('Failed to fetch')

test('a failed refetch keeps the earlier data', () => {
  expect(failureOf({ data: ['kept'], error: broken, refetch })).toBeUndefined()
  expect(failureOf({ data: null, error: broken, refetch })).toBeUndefined()
})

test('missing data, or data that no longer exists, is a failure', () => {
  const notFound = new ApiError(404, [])

  expect(failureOf({ data: undefined, error: broken, refetch })?.error).toBe(broken)
  expect(failureOf({ data: ['old'], error: notFound, refetch })?.error).toBe(notFound)
})

test('the first failed query is reported and retried', () => {
  const again: string[] = []
  const read = (name: string, error: Error | null) => ({
    data: error ? undefined : name,
    error,
    refetch: async () => again.push(name),
  })

  failureOf(read('one', null), read('two', broken), read('three', broken))?.onRetry()

  expect(again).toEqual(['two'])
})

test('a refetched wide number remains the same value', () => {
  const [one, two] = ['[12345678901234567890]', '[12345678901234567891]'].map(parseExact)

  expect(replaceEqualDeep(one, two)).toSatisfy(([number]: unknown[]) => isWideNumber(number))
})
