import pg from 'pg'
import { expect, test } from 'vitest'
import { createTestDatabase, execute } from './database.ts'

test('each database is a separate clone', async () => {
  await using one = await createTestDatabase()
  await using other = await createTestDatabase()

  await execute(one.url, 'create table only_here (id int)')

  const { rows } = await execute(other.url, `select to_regclass('only_here') as found`)
  expect(rows).toEqual([{ found: null }])
})

test('a database with open connections is dropped', async () => {
  const database = await createTestDatabase()
  const client = new pg.Client(database.url)
  const cut = new Promise((resolve) => client.on('error', resolve))
  await client.connect()

  await database[Symbol.asyncDispose]()

  expect(await cut).toMatchObject({ code: '57P01' })
  await expect(execute(database.url, 'select 1')).rejects.toMatchObject({ code: '3D000' })
})
