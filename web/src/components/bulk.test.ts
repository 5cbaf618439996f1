import { expect, test } from 'vitest'
import { ApiError } from '../api/client.ts'
import { actOnEach, type BulkOutcome, obstacleOfAll, readAll } from './bulk.ts'

type Item = { id: string; name: string }

const itemsOf = (count: number) => Array.from({ length: count }, (_, n): Item => ({ id: String(n), name: `w${n}` }))
const NOT_ABORTED = new AbortController().signal

test('after an abort, requests in progress finish and no others start', async () => {
  const outcomes: BulkOutcome<Item>[] = []
  const stop = new AbortController()

  await actOnEach(
    async () => stop.abort(),
    { items: itemsOf(20), signal: stop.signal },
    (outcome) => outcomes.push(outcome),
  )

  expect(outcomes.map(({ item }) => item.id)).toEqual(['0'])
})

test('a failure is reported and does not affect the others', async () => {
  const outcomes: BulkOutcome<Item>[] = []

  await actOnEach(
    async ({ id }) => {
      if (id === '1') throw new Error('locked by ada')
    },
    { items: itemsOf(3), signal: NOT_ABORTED },
    (outcome) => outcomes.push(outcome),
  )

  expect(outcomes).toHaveLength(3)
  expect(outcomes.filter(({ failure }) => failure !== undefined)).toEqual([
    { item: { id: '1', name: 'w1' }, failure: 'locked by ada' },
  ])
})

test('each of many items is acted on once, at most four concurrently', async () => {
  let active = 0
  let most = 0
  const acted: string[] = []

  await actOnEach(
    async ({ id }) => {
      active += 1
      most = Math.max(most, active)
      await Promise.resolve()
      acted.push(id)
      active -= 1
    },
    { items: itemsOf(1000), signal: NOT_ABORTED },
    () => {},
  )

  expect(most).toBe(4)
  expect(new Set(acted).size).toBe(1000)
  expect(acted).toHaveLength(1000)
})

test('an error other than a rate limit is final', async () => {
  let attempts = 0
  const outcomes: BulkOutcome<Item>[] = []

  await actOnEach(
    async () => {
      attempts += 1
      throw new ApiError(409, [{ detail: 'the workspace is locked', pointer: undefined }])
    },
    { items: itemsOf(1), signal: NOT_ABORTED },
    (outcome) => outcomes.push(outcome),
  )

  expect(attempts).toBe(1)
  expect(outcomes[0]?.failure).toBe('the workspace is locked')
})

test('all pages are read, and an item that moves to the next page meanwhile is returned once', async () => {
  const pages = [itemsOf(3), itemsOf(5).slice(2)]
  const counts: number[] = []

  const items = await readAll(async (page) => ({ rows: pages[page - 1] ?? [], hasMore: page < pages.length }), {
    signal: NOT_ABORTED,
    onProgress: (count) => counts.push(count),
  })

  expect(items.map(({ id }) => id)).toEqual(['0', '1', '2', '3', '4'])
  expect(counts).toEqual([3, 5])
})

test('an action has a reason against it only if it applies to no item', () => {
  const obstacle = ({ id }: Item) => (id === '0' ? undefined : 'already locked')

  expect(obstacleOfAll({ obstacle }, itemsOf(2))).toBeUndefined()
  expect(obstacleOfAll({ obstacle }, itemsOf(2).slice(1))).toBe('already locked')
  expect(obstacleOfAll({ obstacle }, itemsOf(3).slice(1))).toBe('not possible for any: already locked')
})
