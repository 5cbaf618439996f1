import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestApp } from '../testing/app.ts'
import { batched } from './batch.ts'

const { db } = await createTestApp()

test('what is asked for at once is found by one query', async () => {
  const loads: string[][] = []
  const find = batched(async (db, keys) => {
    loads.push([...keys])
    const { rows } = await sql<{ key: string }>`select key from unnest(${keys}::text[]) key where key <> 'c'`.execute(
      db,
    )
    return new Map(rows.map((row) => [row.key, row]))
  })

  const found = await Promise.all(['a', 'b', 'a', 'c'].map((key) => find(db, key)))

  expect(loads).toEqual([['a', 'b', 'c']])
  expect(found).toEqual([{ key: 'a' }, { key: 'b' }, { key: 'a' }, undefined])
})

test('what is asked for once a query is under way is not answered by it', async () => {
  const sent = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  let value = 'before'
  const find = batched(async (_, keys) => {
    const read = value
    sent.resolve()
    await answered.promise
    return new Map(keys.map((key) => [key, read]))
  })
  const early = find(db, 'a')
  await sent.promise
  value = 'after'

  const late = find(db, 'a')
  answered.resolve()

  expect([await early, await late]).toEqual(['before', 'after'])
})

test('a query that fails, fails for all who asked, and not for the next ones', async () => {
  let broken = true
  const find = batched(async (_, keys) => {
    if (broken) throw new Error('no database')
    return new Map(keys.map((key) => [key, key]))
  })

  const results = await Promise.allSettled([find(db, 'a'), find(db, 'b')])
  broken = false

  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await find(db, 'a')).toBe('a')
})
