import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestApp } from '../testing/app.ts'
import { isUniqueViolation, transact } from './db.ts'
import { deferWrite, pipeline } from './pipeline.ts'

const { db } = await createTestApp()
await sql`create table notes (id integer primary key, text text not null)`.execute(db)

async function notes() {
  const { rows } = await sql<{ text: string }>`select text from notes order by id`.execute(db)
  return rows.map(({ text }) => text)
}

async function forget() {
  await sql`truncate notes`.execute(db)
}

test('a deferred write is visible to the next statement, and after the commit', async () => {
  await forget()

  const seen = await transact({ db }, async (ctx) => {
    await deferWrite(ctx.db, sql`insert into notes values (${1}, ${'first'})`)
    const { rows } = await sql<{ text: string }>`select text from notes`.execute(ctx.db)
    await deferWrite(ctx.db, sql`insert into notes values (${2}, ${'second'})`)
    return rows
  })

  expect(seen).toEqual([{ text: 'first' }])
  expect(await notes()).toEqual(['first', 'second'])
})

test('a deferred write that fails rolls the transaction back', async () => {
  await forget()

  const failure = await transact({ db }, async (ctx) => {
    await sql`insert into notes values (${1}, ${'first'})`.execute(ctx.db)
    await deferWrite(ctx.db, sql`insert into notes values (${1}, ${'again'})`)
  }).catch((error: unknown) => error)

  expect(isUniqueViolation(failure)).toBe(true)
  expect(await notes()).toEqual([])
})

test('a deferred write that fails fails the next statement', async () => {
  await forget()
  await sql`insert into notes values (1, 'there')`.execute(db)

  const failure = await transact({ db }, async (ctx) => {
    await deferWrite(ctx.db, sql`insert into notes values (${1}, ${'again'})`)
    await sql`select`.execute(ctx.db)
    throw new Error('this is not reached')
  }).catch((error: unknown) => error)

  expect(isUniqueViolation(failure)).toBe(true)
})

test('a deferred write is discarded with its transaction, and the connection remains usable', async () => {
  await forget()

  for (let attempt = 0; attempt < 25; attempt += 1) {
    const given = transact({ db }, async (ctx) => {
      await deferWrite(ctx.db, sql`insert into notes values (${attempt}, ${'lost'})`)
      throw new Error('given up')
    })
    await expect(given).rejects.toThrow('given up')
  }

  expect(await notes()).toEqual([])
})

test('an empty transaction commits', async () => {
  expect(await transact({ db }, async () => 'done')).toBe('done')
})

test('pipelined queries see the changes of those before them', async () => {
  await forget()

  for (let id = 1; id <= 4; id += 1) {
    const [inserted, all] = await transact({ db }, async (ctx) =>
      pipeline(ctx.db, [
        sql<{ id: number }>`insert into notes values (${id}, ${'x'}) returning id`,
        sql<{ count: number }>`select count(*) from notes`,
      ]),
    )
    expect([inserted, all]).toEqual([[{ id }], [{ count: id }]])
  }
})

test('pipelined queries fail with the one that fails', async () => {
  await forget()

  const outcomes: unknown[] = []
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const result = transact({ db }, async (ctx) =>
      pipeline(ctx.db, [sql`select ${1}::integer`, sql`select ${0}::integer / 0`, sql`select ${2}::integer`]),
    )
    outcomes.push(await result.catch((error: unknown) => String(error)))
  }

  expect(outcomes).toEqual(Array.from({ length: 3 }, () => 'error: division by zero'))
})

test('pipelined queries outside of a transaction return rows', async () => {
  expect(await pipeline(db, [sql<{ a: number }>`select 1 as a`, sql<{ b: string }>`select 'x' as b`])).toEqual([
    [{ a: 1 }],
    [{ b: 'x' }],
  ])
})
