import { expect, test } from 'vitest'
import { MIGRATIONS } from '../../migrations/list.ts'
import { createTestDatabase, execute } from '../testing/database.ts'
import { migrate, MigrationError } from './migrate.ts'

test('a database that is up to date stays as it is', async () => {
  await using database = await createTestDatabase()

  expect(await migrate(database.url)).toEqual({ applied: [] })
})

test('servers that start at once migrate one after the other, each migration once', async () => {
  await using database = await createTestDatabase()
  await execute(database.url, 'drop schema public cascade; create schema public')

  const starts = await Promise.all([migrate(database.url), migrate(database.url), migrate(database.url)])

  expect(starts.flatMap(({ applied }) => applied)).toEqual(MIGRATIONS.map(({ name }) => name))
})

test('a server that is older than the database names what it does not know, and writes nothing', async () => {
  await using database = await createTestDatabase()
  await execute(database.url, `update schema_migrations set name = '9999-of-tomorrow' where name = '0061-audit-trail'`)

  const start = migrate(database.url)

  await expect(start).rejects.toThrow(MigrationError)
  await expect(start).rejects.toThrow(/newer version of Groundstate \(it has 9999-of-tomorrow\)/)
  const { rows } = await execute(database.url, `select from schema_migrations where name = '0061-audit-trail'`)
  expect(rows).toEqual([])
})
