import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely'
import { LRUCache } from 'lru-cache'
import pg from 'pg'
import { Packet } from './packet.ts'
import { type Places, PreparedStatements, UNPREPARED } from './prepared.ts'
import { Statement, type StatementResult } from './statement.ts'
import { receiverOf } from './waiting.ts'

// Timestamps are read as Date, counts as number: no count here comes near 2^53.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

/**
 * The database ends a session that has been silent in the midst of a transaction for this long, in ms. Nobody tells it when a
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

/** What was written: signals for those who wait, or else other rows, of which triggers may tell. */
export type WrittenRows = 'signals' | 'others'

export type PoolOptions = {
  /** How many connections there are at most. */
  max: number
  /**
   * Whether a pooler such as PgBouncer in transaction mode stands in between: the session is another one in each transaction then,
   * and a start with parameters that it does not know is refused.
   */
  isPooled?: boolean
  /** Whether repeated statements are prepared under names. */
  prepares?: boolean
  /** Called soon after something may have been written, and committed. */
  onWritten?: ((what: WrittenRows) => void) | undefined
}

/** A result of the driver; of several statements in one text, a list of them. */
type RawResult = { rows: Record<string, unknown>[] }

export type ConnectionPool = PostgresPool & {
  /** Runs a text on any connection as the driver does: never prepared, and without values it may be several statements. */
  run: (text: string, values?: unknown[]) => Promise<RawResult>
}

/** What a statement is told that is sent with the next one. */
const BEGUN: StatementResult = { command: 'BEGIN', rowCount: null, rows: [] }
const SENT_LATER: StatementResult = { command: undefined, rowCount: null, rows: [] }
const NOTHING_TO_END: StatementResult = { command: 'ROLLBACK', rowCount: null, rows: [] }

/** Statements that may write; what this takes for one in error costs little. */
const WRITES = /^\s*(?:insert|update|delete|with\b.*\b(?:insert into|delete from|update (?!skip|of)))/is

/** Statements of `publishing`, or with it. */
const PUBLISHES = /\binsert into signals \(topic\)/i

/**
 * A connection of the pool, as kysely uses it. A `begin`, and the statements that are marked in `waiting.ts`, wait for the next statement and
 * are sent with it, so that they take no round trip of their own.
 */
class PreparingConnection implements PostgresPoolClient {
  #client: pg.PoolClient
  #places: Places
  #isPooled: boolean
  #waiting: Statement[] = []
  /** A transaction has begun for the caller, and its `begin` is still waiting. */
  #isUnsent = false
  #onWritten: (what: WrittenRows) => void
  #isInTransaction = false
  /** What the transaction has written so far. */
  #written: WrittenRows | undefined

  constructor(client: pg.PoolClient, { isPooled = false, prepares = true, onWritten = () => {} }: PoolOptions) {
    this.#client = client
    this.#places = prepares ? new PreparedStatements() : UNPREPARED
    this.#isPooled = isPooled
    this.#onWritten = onWritten
  }

  query<R>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<R>>
  query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>
  query(text: unknown, values: readonly unknown[] = []): unknown {
    if (typeof text !== 'string') throw new Error('cursors are not in use')
    const written = this.#writtenAfter(text)
    if (text === 'rollback') this.#drop()
    if (text === 'rollback' && this.#isUnsent) {
      this.#isUnsent = false
      return Promise.resolve(NOTHING_TO_END)
    }

    const statement = new Statement({ text, values }, this.#places)
    const receive = receiverOf(values)
    if (text === 'begin' || receive) {
      this.#isUnsent ||= text === 'begin'
      this.#waiting.push(statement)
      if (text === 'begin' && this.#isPooled) this.#waiting.push(this.#limit())
      // Whoever awaits the next statement learns of its failure.
      statement.result.catch(() => {})
      receive?.(statement.result)
      return Promise.resolve(receive ? SENT_LATER : BEGUN)
    }
    const packet = new Packet([...this.#waiting.splice(0), statement])
    this.#isUnsent = false
    this.#client.query(packet)
    if (written) {
      void statement.result.then(
        () => this.#onWritten(written),
        () => {},
      )
    }
    return statement.result
  }

  /** What may be committed once the statement has succeeded. */
  #writtenAfter(text: string): WrittenRows | undefined {
    if (text === 'begin' || text === 'commit' || text === 'rollback') {
      const written = text === 'commit' ? this.#written : undefined
      this.#isInTransaction = text === 'begin'
      this.#written = undefined
      return written
    }
    const written = writtenBy(text)
    if (!this.#isInTransaction) return written
    this.#written = written === 'signals' ? written : (this.#written ?? written)
    return undefined
  }

  /** Behind a pooler the limit holds for one transaction, and travels with its first statement. */
  #limit() {
    const statement = new Statement({ text: LIMIT_SILENCE, values: [] }, this.#places)
    statement.result.catch(() => {})
    return statement
  }

  /** Forgets what was not sent: its transaction is given up. */
  #drop() {
    for (const statement of this.#waiting.splice(0)) statement.abandon(new Error('its transaction was rolled back'))
  }

  release(destroy?: boolean) {
    this.#drop()
    this.#isUnsent = false
    this.#client.release(destroy)
  }
}

const writing = new LRUCache<string, { written: WrittenRows | undefined }>({ max: 1000 })

function writtenBy(text: string): WrittenRows | undefined {
  const known = writing.get(text)
  if (known) return known.written
  const written = WRITES.test(text) ? (PUBLISHES.test(text) ? 'signals' : 'others') : undefined
  writing.set(text, { written })
  return written
}

/** A pool of connections to the database at `url` that keep repeated statements prepared. */
export function createConnectionPool(url: string, options: PoolOptions): ConnectionPool {
  const pool = new pg.Pool({
    connectionString: url,
    max: options.max,
    idleTimeoutMillis: IDLE_MS,
    maxLifetimeSeconds: LIFETIME_S,
    application_name: 'groundstate',
    ...(options.isPooled !== true && { idle_in_transaction_session_timeout: SILENT_TRANSACTION_MS }),
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  })
  // A broken connection rejects its waiting queries, and an idle one is replaced on next use. Without listeners, the
  // events would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  pool.on('error', () => {})

  const connections = new WeakMap<pg.PoolClient, PreparingConnection>()
  function connectionOf(client: pg.PoolClient) {
    const connection = connections.get(client) ?? new PreparingConnection(client, options)
    connections.set(client, connection)
    return connection
  }
  return {
    options: {},
    connect: async () => connectionOf(await pool.connect()),
    // After an error the driver closes the connection: several statements may have left a transaction open.
    run: async (text, values) => pool.query(text, values),
    end: async () => pool.end(),
  }
}
