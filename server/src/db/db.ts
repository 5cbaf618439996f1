import { Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, type Transaction } from 'kysely'
import pg from 'pg'
import { sharedLimit } from '../concurrency-limit.ts'
import { AppError, invalid, tooManyRequests } from '../errors.ts'
import { type ConnectionPool, PoolDriver, createConnectionPool } from './pool.ts'
import type { Schema } from './schema.gen.ts'
import { isStalePlan } from './statement.ts'

/** The database or an open transaction. */
export type Db = Kysely<Schema>
/** An open transaction, which functions that take row locks require. */
export type Tx = Transaction<Schema>

/** The database through a connection pool, or through a new one for the URL. */
export function createDb(pool: ConnectionPool | string, options: { max?: number } = {}) {
  const connections = typeof pool === 'string' ? createConnectionPool(pool, { max: options.max ?? 1 }) : pool
  const db = new Kysely<Schema>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new PoolDriver(connections),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  })
  const detail = `earlier changes of this account were in progress for ${DATABASE_TIMEOUT_MS / 1000} s: send fewer at once`
  const timeout = { ms: DATABASE_TIMEOUT_MS, error: () => tooManyRequests(detail, 1000) }
  changeLimits.set(db, sharedLimit(Math.max(1, connections.size - RESERVED_CONNECTIONS), timeout))
  return db
}

/** Connections for reads, and for changes of callers without another one in progress. More of them cost clients of one account speed. */
const RESERVED_CONNECTIONS = 1

const changeLimits = new WeakMap<Db, ReturnType<typeof sharedLimit>>()

/** Runs a change outside of a transaction, within the caller's share of the connections. Throws `too-many-requests` after a long wait for it. */
export async function limitedPerCaller<T>(
  { db, caller }: { db: Db; caller?: string | undefined },
  change: () => Promise<T>,
): Promise<T> {
  const limit = changeLimits.get(db)
  return caller === undefined || !limit ? change() : limit(caller, change)
}

export function isTransaction(db: Db): db is Tx {
  return db.isTransaction
}

/** Runs `work` in the open transaction, or in a new one. Calls with the context that it passes join the transaction. Rolls back if `work` throws. */
export async function transact<C extends { db: Db; caller?: string | undefined }, T>(
  ctx: C,
  work: (ctx: Omit<C, 'db'> & { db: Tx }) => Promise<T>,
): Promise<T> {
  if (isTransaction(ctx.db)) return work({ ...ctx, db: ctx.db })
  return limitedPerCaller(ctx, async () => begin(ctx, work))
}

async function begin<C extends { db: Db }, T>(
  ctx: C,
  work: (ctx: Omit<C, 'db'> & { db: Tx }) => Promise<T>,
): Promise<T> {
  const listeners: (() => void)[] = []
  let isWorkDone = false
  try {
    const result = await ctx.db.transaction().execute(async (db) => {
      commitListeners.set(db, listeners)
      const done = await work({ ...ctx, db })
      isWorkDone = true
      return done
    })
    for (const listener of listeners) setImmediate(listener)
    return result
  } catch (error) {
    if (isWorkDone && !isDefinitelyRejected(error)) {
      for (const listener of listeners) {
        setImmediate(listener)
        setTimeout(listener, UNCONFIRMED_COMMIT_MS).unref()
      }
    }
    throw error
  }
}

const commitListeners = new WeakMap<Db, (() => void)[]>()

/** Time that a COMMIT whose response was lost may still take, in ms. */
const UNCONFIRMED_COMMIT_MS = 5_000

/**
 * Calls `listener` soon after the commit of a transaction of `transact`, or soon outside of a transaction. Only for hints: it is called twice
 * if the response to the COMMIT is lost, whether or not it committed, and not at all if the process dies.
 */
export function afterCommit(db: Db, listener: () => void) {
  if (isTransaction(db)) commitListeners.get(db)?.push(listener)
  else setImmediate(listener)
}

/** Whether an error is the violation of a unique constraint, or of this one. */
export function isUniqueViolation(error: unknown, constraint?: string): error is DatabaseError {
  return isDatabaseError(error, '23505') && (constraint === undefined || error.constraint === constraint)
}

/** Whether an error is the violation of a foreign key: the row is still referenced, or the referenced row is missing. */
export function isForeignKeyViolation(error: unknown, constraint?: string) {
  return isDatabaseError(error, '23503') && (constraint === undefined || error.constraint === constraint)
}

/** Error codes of invalid values: out of range, not a date, too large for an index. */
const REFUSED_VALUES = new Set(['22001', '22003', '22007', '22008', '22021', '22P02', '22P05', '54000'])

/** Whether an error means that a value cannot be stored or compared. */
export function isInvalidValue(error: unknown) {
  return isCoded(error) && REFUSED_VALUES.has(error.code)
}

/** Errors of the driver and its pool that have no code. */
const NO_CONNECTION =
  /^(Connection terminated|timeout exceeded when trying to|Client has encountered a connection error)/

/**
 * Error codes of the system and of PostgreSQL after which a retry may succeed: no connection (08, 28, 3D), no memory or sessions (53), a standby or a
 * session that ended (25), a conflict with other transactions (40, 55), an operator or a timeout (57), its disk (58).
 */
const UNAVAILABLE =
  /^(?:ECONNRESET|EPIPE|ETIMEDOUT|08...|25006|25P0[34]|28...|3D000|40001|40P01|53[023]00|55P03|57014|57P0[1-5]|58030)$/

/** Whether a retry may succeed: the database is unreachable or overloaded, or aborted this transaction in favour of another. */
export function isUnavailable(error: unknown) {
  if (!(error instanceof Error)) return false
  if (NO_CONNECTION.test(error.message) || isStalePlan(error)) return true
  if (!isCoded(error)) return false
  if ('syscall' in error && (error.syscall === 'connect' || error.syscall === 'getaddrinfo')) return true
  // PostgreSQL rejects our malformed messages with 08P01 and names its routine; PgBouncer reports all its own failures with the code.
  if (error.code === '08P01' && 'routine' in error && error.routine !== undefined) return false
  return UNAVAILABLE.test(error.code)
}

/** Whether an error comes from the database or its connection, not from our code. */
export function isDatabaseFailure(error: unknown) {
  return error instanceof pg.DatabaseError || isUnavailable(error)
}

/**
 * Classes of errors after which a transaction may have committed: lost connections, lack of resources, sessions ended by an operator, system
 * and internal errors.
 */
const UNCERTAIN = /^(?:08|25P04|53|57P|58|F0|XX)/

/**
 * Whether the error proves that a transaction did not commit: our code or the database rejected it before the COMMIT. Otherwise only the response
 * may have been lost, so blobs that the transaction names must be left to the sweep.
 */
export function isDefinitelyRejected(error: unknown) {
  if (error instanceof AppError) return true
  return error instanceof pg.DatabaseError && isCoded(error) && !UNCERTAIN.test(error.code)
}

function isCoded(error: unknown): error is { code: string } {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
}

type DatabaseError = { code: string; constraint?: string; detail?: string }

function isDatabaseError(error: unknown, code: string): error is DatabaseError {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code
}

/** Time after which the database counts as unresponsive, in ms: a network may drop a connection silently. The next statement takes another one. */
export const DATABASE_TIMEOUT_MS = 10_000

/** Awaits `work` for at most `timeoutMs`. Throws after that; `work` continues. */
export async function withTimeout<T>(work: Promise<T>, timeoutMs = DATABASE_TIMEOUT_MS): Promise<T> {
  const late = Promise.withResolvers<never>()
  const onTimeout = () => late.reject(new Error(`the database did not respond within ${timeoutMs} ms`))
  const timer = setTimeout(onTimeout, timeoutMs).unref()
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer))
}

export type Page = { number: number; size: number }

/** The rows of one page, and the number of rows of all pages. */
export type Paged<T> = { rows: T[]; total: number }

export function pageOffset(page: Page) {
  return (page.number - 1) * page.size
}

/** Runs a change that sets a unique attribute, by default the name. Throws `invalid` with the detail if another resource has the value. */
export async function rejectTakenName<T>(
  {
    constraint,
    attribute = 'name',
    detail = 'Name has already been taken',
  }: { constraint: string; attribute?: string; detail?: string },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isUniqueViolation(error, constraint)) throw invalid(detail, `/data/attributes/${attribute}`)
    throw error
  }
}
