import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from 'kysely'
import pg from 'pg'
import { connectionOptions } from '../database-address.ts'
import { databaseErrors, measurePool } from '../metrics.ts'
import { type SilentConnections, watchConnections } from './silent-connections.ts'
import { createStatementCache, Pipeline, Statement, type StatementResult, UNPREPARED } from './statement.ts'

// Timestamps are read as Date, counts as number: no count here comes near 2^53.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

/**
 * Time after which the database ends a session that is idle in a transaction, in ms. The locks of a server that lost its network would
 * otherwise block other servers for hours. Our transactions wait for nothing but the database.
 */
const IDLE_TRANSACTION_TIMEOUT_MS = 5_000
const LIMIT_IDLE_TRANSACTION = `set local idle_in_transaction_session_timeout = ${IDLE_TRANSACTION_TIMEOUT_MS}`
const KEEP_ALIVE_MS = 10_000
/** Time limit for getting a connection, in ms: a handshake may hang, too. */
const CONNECT_TIMEOUT_MS = 30_000

/** Time after which an idle connection is closed, in ms. Each takes megabytes of the database's memory for catalogs and prepared statements. */
const IDLE_MS = 3_000
/** Maximum lifetime of a connection, in s: PostgreSQL's processes release some memory only when they end. */
const LIFETIME_S = 600

type PoolOptions = {
  max: number
  /** Whether there is a pooler such as PgBouncer in transaction mode: each transaction may use another session, and start parameters are rejected. */
  isPooled?: boolean
  prepares?: boolean
  /** Name of the sessions, by which operators and other servers recognise their owner. */
  applicationName?: string
  /** Ends connections without a response for this long, in ms, unless the session still executes its statement. */
  silentMs?: number
}

export type ConnectionPool = {
  /** Maximum number of connections. */
  size: number
  connect: () => Promise<PooledConnection>
  /** Runs a text as the driver does: never prepared; without values it may be several statements, which have a list of results. */
  run: (text: string, values?: unknown[]) => Promise<{ rows: Record<string, unknown>[] }>
  end: () => Promise<void>
}

/** A statement of a transaction that is sent with the next one, which saves a round trip. `receive` is called with its pending result. */
export type DeferredQuery = CompiledQuery & { receive: (result: Promise<StatementResult>) => void }

const NO_RESULT: QueryResult<never> = { rows: [] }

/** A connection for kysely. The `begin` of a transaction and deferred statements are sent with the next statement. */
class PooledConnection implements DatabaseConnection {
  #client: pg.PoolClient
  #cache: typeof UNPREPARED
  #isPooled: boolean
  #silent: SilentConnections
  #deferred: Statement[] = []
  /** The `begin` of the open transaction is among the deferred statements. */
  #isUnsent = false
  /** A rollback failed: the transaction may still be open. */
  #isBroken = false

  constructor(client: pg.PoolClient, { isPooled = false, prepares = true }: PoolOptions, silent: SilentConnections) {
    this.#client = client
    this.#silent = silent
    this.#cache = prepares ? createStatementCache() : UNPREPARED
    this.#isPooled = isPooled
  }

  async executeQuery<R>(query: CompiledQuery | DeferredQuery): Promise<QueryResult<R>> {
    const statement = new Statement({ text: query.sql, values: query.parameters }, this.#cache)
    if ('receive' in query) {
      this.#defer(statement)
      query.receive(statement.result)
      return NO_RESULT
    }
    const { command, rowCount, rows } = await this.#send(statement).catch(throwWithCallers)
    const numAffectedRows = isWrite(command) && rowCount !== null ? BigInt(rowCount) : undefined
    return { ...(numAffectedRows !== undefined && { numAffectedRows }), rows: rows as R[] }
  }

  begin() {
    this.#isUnsent = true
    this.#defer(this.#bare('begin'))
    // Without a pooler, the limit is a parameter of the session.
    if (this.#isPooled) this.#defer(this.#bare(LIMIT_IDLE_TRANSACTION))
  }

  /** Throws if the database rolled the transaction back because a statement had failed. */
  async commit() {
    const { command } = await this.#send(this.#bare('commit'))
    if (command === 'ROLLBACK') throw new Error('the transaction was rolled back because a statement failed')
  }

  async rollback() {
    const isUnsent = this.#isUnsent
    this.#drop()
    if (isUnsent) return
    try {
      await this.#send(this.#bare('rollback'))
    } catch (error) {
      this.#isBroken = true
      throw error
    }
  }

  release() {
    this.#drop()
    this.#client.release(this.#isBroken)
  }

  #bare(text: string) {
    return new Statement({ text, values: [] }, this.#cache)
  }

  #defer(statement: Statement) {
    // A failure is reported by the next statement.
    statement.result.catch(() => {})
    this.#deferred.push(statement)
  }

  async #send(statement: Statement): Promise<StatementResult> {
    this.#isUnsent = false
    this.#client.query(new Pipeline([...this.#deferred.splice(0), statement]))
    statement.result.catch(countError)
    this.#silent.watch(this.#client, statement.result)
    return statement.result
  }

  /** Discards unsent statements of an aborted transaction. */
  #drop() {
    this.#isUnsent = false
    for (const statement of this.#deferred.splice(0)) statement.abandon(new Error('its transaction was rolled back'))
  }

  streamQuery(): never {
    throw new Error('cursors are not supported')
  }
}

/** Adds the callers to the stack of an error that was created in the driver's read loop. */
function throwWithCallers(error: unknown): never {
  if (error instanceof Error) error.stack = `${error.stack}\n${new Error().stack?.replace(/^.*\n/, '') ?? ''}`
  throw error
}

/** Kinds of errors by the class of their code; `unavailable` if there is none, as after a lost connection. */
const ERROR_KINDS: Readonly<Record<string, string>> = {
  '22': 'invalid value',
  '23': 'constraint',
  '40': 'conflict',
  '55': 'conflict',
  '08': 'unavailable',
  '53': 'unavailable',
  '57': 'unavailable',
  '58': 'unavailable',
}

function countError(error: unknown) {
  const code = error instanceof pg.DatabaseError ? (error.code ?? '') : '08'
  databaseErrors.inc({ kind: ERROR_KINDS[code.slice(0, 2)] ?? 'other' })
}

function isWrite(command: string | undefined) {
  return command === 'INSERT' || command === 'UPDATE' || command === 'DELETE' || command === 'MERGE'
}

function pooled(connection: DatabaseConnection): PooledConnection {
  if (connection instanceof PooledConnection) return connection
  throw new Error('the connection belongs to another driver')
}

export class PoolDriver implements Driver {
  #pool: ConnectionPool

  constructor(pool: ConnectionPool) {
    this.#pool = pool
  }

  async init() {}

  async acquireConnection() {
    return this.#pool.connect()
  }

  async beginTransaction(connection: DatabaseConnection) {
    pooled(connection).begin()
  }

  async commitTransaction(connection: DatabaseConnection) {
    await pooled(connection).commit()
  }

  async rollbackTransaction(connection: DatabaseConnection) {
    await pooled(connection).rollback()
  }

  async releaseConnection(connection: DatabaseConnection) {
    pooled(connection).release()
  }

  async destroy() {
    await this.#pool.end()
  }
}

export function createConnectionPool(url: string, options: PoolOptions): ConnectionPool {
  const pool = new pg.Pool({
    ...connectionOptions(url),
    max: options.max,
    idleTimeoutMillis: IDLE_MS,
    maxLifetimeSeconds: LIFETIME_S,
    application_name: options.applicationName ?? 'groundstate',
    ...(options.isPooled !== true && { idle_in_transaction_session_timeout: IDLE_TRANSACTION_TIMEOUT_MS }),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  })
  // A broken connection rejects its pending queries, and an idle one is replaced. Without listeners, the events would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  pool.on('error', () => {})

  const { isPooled = false, silentMs } = options
  const silent = watchConnections({ url, isPooled, ...(silentMs !== undefined && { silentMs, arrivalMs: silentMs }) })
  const connections = new WeakMap<pg.PoolClient, PooledConnection>()
  function connectionOf(client: pg.PoolClient) {
    const connection = connections.get(client) ?? new PooledConnection(client, options, silent)
    connections.set(client, connection)
    return connection
  }
  const measured = measurePool(() => {
    const { totalCount, idleCount, waitingCount } = pool
    return { inUse: totalCount - idleCount, idle: idleCount, waiting: waitingCount, max: options.max }
  })
  async function connect() {
    try {
      return connectionOf(await pool.connect())
    } catch (error) {
      countError(error)
      throw error
    }
  }
  return {
    size: options.max,
    connect,
    // After an error the driver closes the connection, since several statements may have left a transaction open.
    async run(text, values) {
      const client = await pool.connect()
      try {
        const response = client.query(text, values)
        silent.watch(client, response)
        const result = await response
        client.release()
        return result
      } catch (error) {
        client.release(true)
        throw error
      }
    },
    async end() {
      measured[Symbol.dispose]()
      // Lost connections are ended until then: the pool waits for the statements of all.
      await pool.end().finally(() => silent[Symbol.dispose]())
    },
  }
}
