import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from 'kysely'
import pg from 'pg'
import { type Places, PreparedStatements, UNPREPARED } from './prepared.ts'
import { Pipeline } from './statement-batch.ts'
import { Statement, type StatementResult } from './statement.ts'

// Timestamps are read as Date, counts as number: no count here comes near 2^53.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

/**
 * The database ends a session that has been silent in the midst of a transaction for this long, in ms. No one tells it when a
 * server is cut off from it: what that server has locked would block the other servers for hours. No transaction of ours waits
 * for anything else than the database.
 */
const SILENT_TRANSACTION_MS = 5_000
const LIMIT_SILENCE = `set local idle_in_transaction_session_timeout = ${SILENT_TRANSACTION_MS}`
/** When a connection is silent for this long, in ms, the system asks whether the database is still there. */
const KEEP_ALIVE_MS = 10_000

/**
 * A connection without work is closed after this time, in ms. Each holds megabytes of the database's memory: its catalogs, and the
 * statements that it keeps prepared.
 */
const IDLE_MS = 3_000
/** A connection is replaced after this time, in s: what PostgreSQL's processes gather they give back only when they end. */
const LIFETIME_S = 600

export type PoolOptions = {
  /** How many connections there are at most. */
  max: number
  /**
   * Whether there is a pooler such as PgBouncer in transaction mode, so that each transaction may use a different session,
   * and a start with parameters that it does not know is refused.
   */
  isPooled?: boolean
  /** Whether repeated statements are prepared under names. */
  prepares?: boolean
  /** The name of the sessions, by which operators and other servers know whose they are. */
  applicationName?: string
}

/** A result of the driver; of several statements in one text, a list of them. */
type RawResult = { rows: Record<string, unknown>[] }

export type ConnectionPool = {
  connect: () => Promise<PooledConnection>
  /** Runs a text on any connection as the driver does: never prepared, and without values it may be several statements. */
  run: (text: string, values?: unknown[]) => Promise<RawResult>
  end: () => Promise<void>
}

/**
 * A statement of a transaction that is sent with the next one, without a separate round trip. `receive` gets its result once
 * it is on its way.
 */
export type DeferredQuery = CompiledQuery & { receive: (result: Promise<StatementResult>) => void }

const BEGIN = 'begin'
const NO_RESULT: QueryResult<never> = { rows: [] }

/** A connection as kysely uses it. The `begin` of a transaction and deferred statements are sent with the statement that follows them. */
class PooledConnection implements DatabaseConnection {
  #client: pg.PoolClient
  #places: Places
  #isPooled: boolean
  #deferred: Statement[] = []
  /** The `begin` of the open transaction is among the deferred statements. */
  #isUnsent = false
  /** A rollback has failed: the transaction may still be open. */
  #isBroken = false

  constructor(client: pg.PoolClient, { isPooled = false, prepares = true }: PoolOptions) {
    this.#client = client
    this.#places = prepares ? new PreparedStatements() : UNPREPARED
    this.#isPooled = isPooled
  }

  async executeQuery<R>(query: CompiledQuery | DeferredQuery): Promise<QueryResult<R>> {
    const statement = new Statement({ text: query.sql, values: query.parameters }, this.#places)
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
    this.#defer(this.#bare(BEGIN))
    // Behind a pooler the limit holds for one transaction.
    if (this.#isPooled) this.#defer(this.#bare(LIMIT_SILENCE))
  }

  /** Throws when the database has rolled the transaction back instead, since a statement of it had failed. */
  async commit() {
    const { command } = await this.#send(this.#bare('commit'))
    if (command === 'ROLLBACK') throw new Error('the transaction was rolled back: a statement of it has failed')
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
    return new Statement({ text, values: [] }, this.#places)
  }

  #defer(statement: Statement) {
    // The caller learns of a failure from the statement that follows.
    statement.result.catch(() => {})
    this.#deferred.push(statement)
  }

  async #send(statement: Statement): Promise<StatementResult> {
    const packet = new Pipeline([...this.#deferred.splice(0), statement])
    this.#isUnsent = false
    this.#client.query(packet)
    return statement.result
  }

  /** Discards unsent statements: their transaction is aborted. */
  #drop() {
    this.#isUnsent = false
    for (const statement of this.#deferred.splice(0)) statement.abandon(new Error('its transaction was rolled back'))
  }

  streamQuery(): never {
    throw new Error('cursors are not in use')
  }
}

/** Adds the callers to the stack of an error that was created in the driver's read loop. */
function throwWithCallers(error: unknown): never {
  if (error instanceof Error) error.stack = `${error.stack}\n${new Error().stack?.replace(/^.*\n/, '') ?? ''}`
  throw error
}

function isWrite(command: string | undefined) {
  return command === 'INSERT' || command === 'UPDATE' || command === 'DELETE' || command === 'MERGE'
}

/** All connections of kysely are those of a pool. */
function pooled(connection: DatabaseConnection): PooledConnection {
  if (connection instanceof PooledConnection) return connection
  throw new Error('the connection is of another driver')
}

/** Lets kysely use the connections of a pool. */
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

/** A pool of connections to the database at `url` that keep repeated statements prepared. */
export function createConnectionPool(url: string, options: PoolOptions): ConnectionPool {
  const pool = new pg.Pool({
    connectionString: url,
    max: options.max,
    idleTimeoutMillis: IDLE_MS,
    maxLifetimeSeconds: LIFETIME_S,
    application_name: options.applicationName ?? 'groundstate',
    ...(options.isPooled !== true && { idle_in_transaction_session_timeout: SILENT_TRANSACTION_MS }),
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  })
  // A broken connection rejects its waiting queries, and an idle one is replaced on next use. Without listeners, the
  // events would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  pool.on('error', () => {})

  const connections = new WeakMap<pg.PoolClient, PooledConnection>()
  function connectionOf(client: pg.PoolClient) {
    const connection = connections.get(client) ?? new PooledConnection(client, options)
    connections.set(client, connection)
    return connection
  }
  return {
    connect: async () => connectionOf(await pool.connect()),
    // After an error the driver closes the connection: several statements may have left a transaction open.
    run: async (text, values) => pool.query(text, values),
    end: async () => pool.end(),
  }
}
