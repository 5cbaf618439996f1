import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely'
import pg from 'pg'
import { PreparedStatements } from './prepared.ts'
import { Statement } from './statement.ts'

// Timestamps are read as Date, counts as number: no count here comes near 2^53.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

/**
 * The database ends a session that has been silent in the midst of a transaction for this long, in ms. Nobody tells it when a
 * server is cut off from it: what that server has locked would block the other servers for hours. No transaction of ours waits
 * for anything else than the database.
 */
const SILENT_TRANSACTION_MS = 5_000
/** When a connection is silent for this long, in ms, the system asks whether the database is still there. */
const KEEP_ALIVE_MS = 10_000

/** A connection of the pool, as kysely uses it. */
class PreparingConnection implements PostgresPoolClient {
  #client: pg.PoolClient
  #prepared = new PreparedStatements()

  constructor(client: pg.PoolClient) {
    this.#client = client
  }

  query<R>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<R>>
  query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>
  query(text: unknown, values: readonly unknown[] = []): unknown {
    if (typeof text !== 'string') throw new Error('cursors are not in use')
    return this.#client.query(new Statement({ text, values }, this.#prepared)).result
  }

  release(destroy?: boolean) {
    this.#client.release(destroy)
  }
}

/** A pool of connections to the database at `url` that keep repeated statements prepared. */
export function createConnectionPool(url: string, options: { max: number }): PostgresPool {
  const pool = new pg.Pool({
    connectionString: url,
    max: options.max,
    idleTimeoutMillis: 60_000,
    application_name: 'groundstate',
    idle_in_transaction_session_timeout: SILENT_TRANSACTION_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  })
  // A broken connection rejects its waiting queries, and an idle one is replaced on next use. Without listeners, the
  // events would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  pool.on('error', () => {})

  const connections = new WeakMap<pg.PoolClient, PreparingConnection>()
  function connectionOf(client: pg.PoolClient) {
    const connection = connections.get(client) ?? new PreparingConnection(client)
    connections.set(client, connection)
    return connection
  }
  return {
    options: {},
    connect: async () => connectionOf(await pool.connect()),
    end: async () => pool.end(),
  }
}
