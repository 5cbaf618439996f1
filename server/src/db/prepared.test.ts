import { CompiledQuery, sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestApp } from '../testing/app.ts'
import type { Db } from './db.ts'
import { MAX_PREPARED } from './statement.ts'

const { db } = await createTestApp()

/** Runs each statement `times` times. */
async function run(one: Db, texts: readonly string[], times = 2) {
  for (const text of texts) {
    for (let time = 0; time < times; time += 1) await one.executeQuery(CompiledQuery.raw(text, [1]))
  }
}

function texts(name: string, count: number, columns = 1) {
  const all = Array.from({ length: columns }, (_, index) => `$1::int + ${index} as c${index}`)
  return Array.from({ length: count }, (_, index) => `select '${name} ${index}' as name, ${all.join(', ')}`)
}

async function kept(one: Db, name: string) {
  const { rows } = await sql<{ count: number }>`select count(*) as count from pg_prepared_statements
    where statement like ${`%'${name} %`}`.execute(one)
  return rows[0]?.count ?? 0
}

/** The memory of the connection's database process, in bytes. */
async function memory(one: Db) {
  const { rows } = await sql<{ total: number }>`
    select sum(total_bytes)::bigint as total from pg_backend_memory_contexts`.execute(one)
  return rows[0]?.total ?? 0
}

test('ten thousand texts leave no more prepared statements than the maximum, and no more memory', async () => {
  await db.connection().execute(async (one) => {
    await run(one, texts('first', 2 * MAX_PREPARED))
    const before = await memory(one)

    await run(one, texts('next', 10_000))

    const { rows } = await sql`select count(*) as count from pg_prepared_statements`.execute(one)
    expect(rows).toEqual([{ count: MAX_PREPARED }])
    expect(await memory(one)).toBeLessThan(before * 1.1)
  })
}, 120_000)

test('the memory of large statements is released when they are evicted', async () => {
  await db.connection().execute(async (one) => {
    await run(one, texts('small', MAX_PREPARED))
    const before = await memory(one)
    await run(one, texts('large', MAX_PREPARED, 200))
    const full = await memory(one)

    await run(one, texts('later', MAX_PREPARED))

    expect(full).toBeGreaterThan(before * 3)
    expect(await memory(one)).toBeLessThan(before * 1.1)
  })
})

test('a statement that runs once is not kept', async () => {
  await db.connection().execute(async (one) => {
    await run(one, texts('once', 5), 1)

    expect(await kept(one, 'once')).toBe(0)
  })
})

test('a frequent statement is not evicted', async () => {
  await db.connection().execute(async (one) => {
    const [often = ''] = texts('often', 1)
    await run(one, [often])

    for (const text of texts('passing', 3 * MAX_PREPARED)) await run(one, [text, often])

    const { rows } = await sql<{ runs: number }>`select generic_plans + custom_plans as runs from pg_prepared_statements
      where statement = ${often}`.execute(one)
    expect(rows).toEqual([{ runs: 1 + 2 * 3 * MAX_PREPARED }])
  })
})

test('a name that is reused in a failed transaction works again afterwards', async () => {
  await db.connection().execute(async (one) => {
    const [text = ''] = texts('failed', 1)
    await run(one, texts('earlier', MAX_PREPARED))
    const broken = one.transaction().execute(async (tx) => {
      await sql`select 1 / ${0}::int`.execute(tx).catch(() => {})
      await run(tx, [text]).catch(() => {})
      await run(tx, [text])
    })

    await expect(broken).rejects.toMatchObject({ code: '25P02' })
    await run(one, [text, ...texts('earlier', MAX_PREPARED)], 3)
    expect(await kept(one, 'earlier')).toBeGreaterThan(MAX_PREPARED / 2)
  })
})
