import { requireNoRestore } from '../backup/restore.ts'
import type { Config } from '../config.ts'
import { connectDatabase } from '../db/connect.ts'
import { migrate } from '../db/migrate.ts'
import { adoptInstallation } from '../installation.ts'
import { hasDatabase } from '../postgres/directories.ts'
import { findPostgres } from '../postgres/postgres.ts'
import { StartError } from '../start-error.ts'

/** The configured database. The embedded PostgreSQL is started unless a server runs it. Throws a `StartError` if there is no database. */
export async function openDatabase(config: Config): Promise<AsyncDisposable & { url: string }> {
  const url = config.databaseDirectUrl ?? config.databaseUrl
  await requireNoRestore(config.dataDir)
  if (url !== undefined) return { url, async [Symbol.asyncDispose]() {} }
  if (!(await hasDatabase(config.dataDir)))
    throw new StartError(`there is no database in ${config.dataDir}`, {
      advice: 'start the server first, or set GROUNDSTATE_DATA_DIR to its data directory',
    })
  return findPostgres(config.dataDir)
}

/** Records the configured blob store as that of the database, after blobs were moved or restored. */
export async function adoptBlobsCommand(config: Config): Promise<number> {
  await using database = await openDatabase(config)
  await requireNoServer(database.url)
  await migrate(database.url, {
    async afterwards(client) {
      const { id, place } = await adoptInstallation(client, config)
      process.stdout.write(`The database now has its blobs in ${place} (store ${id}).\n`)
    },
  })
  return 0
}

/** Running servers, which always have a listening connection, would continue to use their own store. */
async function requireNoServer(url: string) {
  const client = await connectDatabase(url, 'groundstate-blobs')
  try {
    const { rows } = await client.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity where datname = current_database() and application_name like 'groundstate-signals %'`,
    )
    if (rows[0]?.count === 0) return
    throw new StartError('a server is connected to the database', { advice: 'stop all servers first' })
  } finally {
    await client.end()
  }
}
