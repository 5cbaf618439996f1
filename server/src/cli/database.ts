import type { Config } from '../config.ts'
import { hasDatabase } from '../postgres/directories.ts'
import { findPostgres } from '../postgres/postgres.ts'
import { StartError } from '../start-error.ts'

/**
 * The database of the settings, for a command. Without a running server, the embedded PostgreSQL is started for the command. Throws
 * a `StartError` where there is none: a command makes none.
 */
export async function openDatabase(config: Config): Promise<AsyncDisposable & { url: string }> {
  const url = config.databaseDirectUrl ?? config.databaseUrl
  if (url !== undefined) return { url, async [Symbol.asyncDispose]() {} }
  if (!(await hasDatabase(config.dataDir)))
    throw new StartError(`there is no database in ${config.dataDir}`, {
      advice: 'start the server there first, or name its data directory in GROUNDSTATE_DATA_DIR',
    })
  return findPostgres(config.dataDir)
}
