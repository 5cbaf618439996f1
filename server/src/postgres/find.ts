import { findSystemAccount } from './account.ts'
import { openDirectories } from './directories.ts'
import { connectionString } from './owner.ts'
import { type Postgres, startPostgres } from './postgres.ts'
import { isPostmaster, readPostmaster } from './postmaster.ts'

const QUIET = { info() {}, warn() {} }

/**
 * The embedded PostgreSQL of a data directory, for a short task. If a server runs it, disposing leaves it running;
 * otherwise it is started, and disposing stops it.
 */
export async function findPostgres(dataDir: string): Promise<Postgres> {
  const { cluster } = await openDirectories(dataDir, await findSystemAccount(), QUIET)
  const running = await readPostmaster(cluster)
  if (running?.ready && (await isPostmaster(running.pid, cluster))) {
    return {
      url: connectionString(running.socketDirectory),
      async [Symbol.asyncDispose]() {},
    }
  }
  return startPostgres({ dataDir, log: QUIET })
}
