import { expect, test } from 'vitest'
import { newId, randomText, timeOrderedUuid } from './ids.ts'

test('ids are a prefix and 16 characters of base 58, and no two are the same', () => {
  const ids = Array.from({ length: 10_000 }, () => newId('ws'))

  expect(ids.filter((id) => !/^ws-[1-9A-HJ-NP-Za-km-z]{16}$/.test(id))).toEqual([])
  expect(new Set(ids).size).toBe(ids.length)
})

test('all characters are equally likely', () => {
  const text = randomText(58_000)

  const counts = Map.groupBy(text, (character) => character).values()
  // 1000 of each with a standard deviation of 31.
  expect([...counts].filter(({ length }) => length < 750 || length > 1250)).toEqual([])
})

test('a time-ordered UUID has version 7 and begins with the time', () => {
  const [first, second] = [1_700_000_000_000, 1_700_000_000_001].map((time) => timeOrderedUuid(new Date(time)))

  expect(first).toMatch(/^018bcfe5-6800-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(first?.localeCompare(second ?? '')).toBe(-1)
})
