import type { Config } from '../config.ts'
import { connectDatabase } from '../db/connect.ts'
import { migrate } from '../db/migrate.ts'
import { adoptInstallation } from '../installation.ts'
import { StartError } from '../start-error.ts'
import { openDatabase } from './database.ts'

/** Records the blob store of the settings as the one of the database, after blobs were moved or restored on purpose. */
export async function blobsAdoptCommand(config: Config): Promise<number> {
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

/** A server that runs would go on with its own store: it compares when it starts. A server always listens for signals. */
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
