import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestApp } from '../testing/app.ts'
import { transact } from './db.ts'
import { lookup } from './lookup.ts'

const app = await createTestApp()
const { db } = app
await sql`create table places (country text, town text, size integer)`.execute(db)
await sql`insert into places values ('fr', 'Lyon', 5), ('it', 'Rome', 9), ('us', 'Rome', 1)`.execute(db)

const findPlace = lookup(
  ['country', 'town'],
  (_, { country, town }) =>
    sql<{
      town: string
      size: number
    }>`select town, size from places where country = ${country} and town = ${town} and size > ${0}`,
)

test('each concurrent caller gets the row of its key', async () => {
  const keys = [
    { country: 'us', town: 'Rome' },
    { country: 'fr', town: 'Rome' },
    { country: 'fr', town: 'Lyon' },
    { country: 'it', town: 'Rome' },
    { country: 'us', town: 'Rome' },
  ]

  const found = await Promise.all(keys.map((key) => findPlace(db, key)))

  expect(found.map((row) => row?.size)).toEqual([1, undefined, 5, 9, 1])
})

test('special characters of PostgreSQL arrays are escaped', async () => {
  const odd = ['{a,b}', '"', '\\', 'null', '', "'"]
  for (const town of odd) await sql`insert into places values ('odd', ${town}, 3)`.execute(db)

  const found = await Promise.all(odd.map((town) => findPlace(db, { country: 'odd', town })))

  expect(found.map((row) => row?.town)).toEqual(odd)
})

test('a transaction sees its own writes', async () => {
  const found = await transact(app, async ({ db }) => {
    await sql`insert into places values ('de', 'Ulm', 2)`.execute(db)
    return findPlace(db, { country: 'de', town: 'Ulm' })
  })

  expect(found?.size).toBe(2)
})

test('PostgreSQL plans a lookup once for any number of keys', async () => {
  await db.connection().execute(async (one) => {
    // As by default: the server of the tests keeps a plan from the first execution on.
    await sql`set plan_cache_mode = auto`.execute(one)
    for (let count = 1; count < 12; count += 1) {
      const keys = Array.from({ length: count }, (_, index) => ({ country: 'fr', town: `town ${index}` }))
      await Promise.all(keys.map((key) => findPlace(one, key)))
    }
    const { rows } = await sql<{ planned: number }>`select custom_plans as planned from pg_prepared_statements
      where statement like ${'%from places where country%'}`.execute(one)

    // PostgreSQL replans the first five executions.
    expect(rows).toEqual([{ planned: 5 }])
  })
})
