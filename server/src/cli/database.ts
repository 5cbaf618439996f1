import type pg from 'pg'
import { MIGRATIONS } from '../../migrations/list.ts'
import { requireNoRestore } from '../backup/restore.ts'
import { requireNoServer } from '../blobs/blob-store.ts'
import type { Config } from '../config.ts'
import { databaseName } from '../db/connect.ts'
import { checkMigrations, listApplied, migrate } from '../db/migrate.ts'
import { requireUser } from '../directory.ts'
import { adoptInstallation } from '../installation.ts'
import { hasDatabase } from '../postgres/directories.ts'
import { findPostgres } from '../postgres/postgres.ts'
import { StartError } from '../start-error.ts'

/**
 * The configured database. The embedded PostgreSQL is started unless a server runs it. Throws a `StartError` if there is no database, or the data
 * directory is not that of this user.
 */
export async function openDatabase(config: Config): Promise<AsyncDisposable & { url: string }> {
  const url = config.databaseDirectUrl ?? config.databaseUrl
  await requireUser(config.dataDir)
  await requireNoRestore(config.dataDir)
  if (url !== undefined) return { url, async [Symbol.asyncDispose]() {} }
  if (!(await hasDatabase(config.dataDir)))
    throw new StartError(`there is no database in ${config.dataDir}`, {
      advice: 'start the server first, or set GROUNDSTATE_DATA_DIR to its data directory',
    })
  return findPostgres(config.dataDir)
}

/** Throws a `StartError` for a database that this version has not migrated, or a newer one has. */
export async function requireMigrated(client: pg.Client) {
  const { rows: tables } = await client.query(`select where to_regclass('public.schema_migrations') is not null`)
  const done = tables.length === 0 ? [] : await listApplied(client)
  checkMigrations(done)
  const known = new Set(MIGRATIONS.map(({ name }) => name))
  const newer = done.filter(({ name }) => !known.has(name)).map(({ name }) => name)
  if (newer.length > 0)
    throw new StartError(
      `the database ${databaseName(client)} was migrated by a newer version of Groundstate (it has ${newer.toSorted().join(', ')})`,
      { advice: 'run the command of that version' },
    )
  if (done.length === known.size) return
  throw new StartError(`the database ${databaseName(client)} was not migrated by this version of Groundstate yet`, {
    advice: 'start this version of the server with it first',
  })
}

/** Records the configured blob store as that of the database, after blobs were moved or restored. */
export async function adoptBlobsCommand(config: Config): Promise<number> {
  await using database = await openDatabase(config)
  await migrate(database.url, {
    async afterwards(client) {
      await requireNoServer(client)
      const { id, place } = await adoptInstallation(client, config)
      process.stdout.write(`The database now has its blobs in ${place} (store ${id}).\n`)
    },
  })
  return 0
}
