import { expect, test } from 'vitest'
import { createTestApp } from '../testing/app.ts'
import { batched } from './lookup.ts'

const { db } = await createTestApp()

test('concurrent requests share a query', async () => {
  const loads: (readonly string[])[][] = []
  const find = batched(async (_, keys) => {
    loads.push([...keys])
    return keys.map(([key]) => (key === 'c' ? undefined : { key }))
  })

  const found = await Promise.all(['a', 'b', 'a', 'c'].map((key) => find(db, [key])))

  expect(loads).toEqual([[['a'], ['b'], ['c']]])
  expect(found).toEqual([{ key: 'a' }, { key: 'b' }, { key: 'a' }, undefined])
})

test('keys of several parts are distinguished', async () => {
  const find = batched(async (_, keys) => keys.map((key) => key))

  const found = await Promise.all([find(db, ['ab', 'c']), find(db, ['a', 'bc'])])

  expect(found).toEqual([
    ['ab', 'c'],
    ['a', 'bc'],
  ])
})

test('a request during a query is not served by that query', async () => {
  const sent = Promise.withResolvers<void>()
  const responded = Promise.withResolvers<void>()
  let value = 'before'
  const find = batched(async (_, keys) => {
    const read = value
    sent.resolve()
    await responded.promise
    return keys.map(() => read)
  })
  const early = find(db, ['a'])
  await sent.promise
  value = 'after'

  const late = find(db, ['a'])
  responded.resolve()

  expect([await early, await late]).toEqual(['before', 'after'])
})

test('a failed query fails all its requests, but not later ones', async () => {
  let broken = true
  const find = batched(async (_, keys) => {
    if (broken) throw new Error('no database')
    return keys.map(([key]) => key)
  })

  const results = await Promise.allSettled([find(db, ['a']), find(db, ['b'])])
  broken = false

  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await find(db, ['a'])).toBe('a')
})

test('a rejected key does not fail the other keys', async () => {
  const find = batched(async (_, keys) => {
    if (keys.some(([key]) => key === 'bad')) throw new Error('refused')
    return keys.map(([key]) => key)
  })

  const results = await Promise.allSettled([find(db, ['good']), find(db, ['bad'])])

  expect(results).toMatchObject([{ status: 'fulfilled', value: 'good' }, { status: 'rejected' }])
})
