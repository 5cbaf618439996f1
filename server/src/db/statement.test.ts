import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestApp } from '../testing/app.ts'
import { type Db, isUnavailable, isUniqueViolation } from './db.ts'

const { db } = await createTestApp()
await sql`create table things (id integer primary key, name text, at timestamptz, bytes bytea, info jsonb)`.execute(db)

/** A list that repeats one value. */
function always<T>(value: T, times = 3): T[] {
  return Array.from({ length: times }, () => value)
}

/**
 * On one connection: the first execution prepares nothing, the second prepares, the third uses the prepared statement.
 */
function thrice<T>(work: (db: Db) => Promise<T>) {
  return db.connection().execute(async (one) => [await work(one), await work(one), await work(one)])
}

test('values of every type round-trip at each execution', async () => {
  const at = new Date('2026-01-02T03:04:05.678Z')
  const values = { id: 1, name: 'a "name"', at, bytes: Buffer.from([0, 255]), info: { list: [1, null] } }
  const { name, bytes, info } = values
  await sql`insert into things values (1, ${name}, ${at}, ${bytes}, ${info}), (2, null, null, null, null)`.execute(db)

  const found = await thrice(
    async (one) => (await sql`select * from things where id > ${0} order by id`.execute(one)).rows,
  )

  const empty = { id: 2, name: null, at: null, bytes: null, info: null }
  expect(found).toEqual(always([values, empty]))
})

test('each row is a separate object', async () => {
  const [first, ...others] = await thrice(async (one) => {
    const { rows } = await sql<{ name: string | null }>`select null as name from generate_series(1, ${2})`.execute(one)
    return rows
  })

  if (first?.[0]) first[0].name = 'changed'

  expect(first?.[1]).toEqual({ name: null })
  expect(others.flat()).toEqual(always({ name: null }, 4))
})

test('a statement without rows reports the number of affected rows each time', async () => {
  const counts = await thrice(async (one) => {
    const { numAffectedRows, rows } = await sql`update things set name = ${'b'} where id > ${0}`.execute(one)
    return { numAffectedRows, rows }
  })

  expect(counts).toEqual(always({ numAffectedRows: 2n, rows: [] }))
})

test('a statement that failed can be run again', async () => {
  const outcomes = await db.connection().execute(async (one) => {
    const results: unknown[] = []
    for (const id of [1, 10, 10, 11]) {
      const insert = sql<{ id: number }>`insert into things (id) values (${id}) returning id`.execute(one)
      results.push(
        await insert.then(
          ({ rows }) => rows[0]?.id,
          (error: unknown) => isUniqueViolation(error),
        ),
      )
    }
    return results
  })

  expect(outcomes).toEqual([true, 10, true, 11])
})

test('a statement that PostgreSQL cannot parse fails each time', async () => {
  const outcomes = await thrice(async (one) => sql`selec ${1}`.execute(one).catch((error: unknown) => String(error)))

  expect(outcomes).toEqual(always('error: syntax error at or near "selec"'))
})

test('of two columns with the same name, the last is returned', async () => {
  const rows = await thrice(async (one) => (await sql`select ${'a'}::text as name, null as name`.execute(one)).rows)

  expect(rows).toEqual(always([{ name: null }]))
})

test('a statement whose table has changed fails once per connection, with a retryable error', async () => {
  await sql`create table old_rows (id int8)`.execute(db)
  await sql`insert into old_rows values (1)`.execute(db)
  const read = async (one: Db) => (await sql<object>`select * from old_rows where id = ${1}`.execute(one)).rows
  const readInTransaction = async () => db.transaction().execute(async (tx) => read(tx))
  for (const row of [{ id: 1 }, { id: 1 }]) expect(await read(db)).toEqual([row])

  for (const [column, work] of [['a', async () => read(db)] as const, ['b', readInTransaction] as const]) {
    await sql`alter table old_rows add column ${sql.ref(column)} text`.execute(db)

    const error: unknown = await work().catch((error: unknown) => error)
    expect(isUnavailable(error)).toBe(true)
    expect(await work()).toEqual([expect.objectContaining({ id: 1, [column]: null })])
  }
})

test('a connection that breaks in a transaction fails only that transaction', async () => {
  const broken = db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid where ${true}`.execute(tx)
    await sql`select pg_terminate_backend(${rows[0]?.pid})`.execute(db)
    return sql`select ${1}`.execute(tx)
  })

  const error: unknown = await broken.catch((error: unknown) => error)
  expect(isUnavailable(error)).toBe(true)
  expect((await sql`select ${'on'} as goes`.execute(db)).rows).toEqual([{ goes: 'on' }])
})
