import { Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, type Transaction } from 'kysely'
import pg from 'pg'
import { AppError, invalid } from '../errors.ts'
import { type ConnectionPool, PoolDriver, createConnectionPool } from './pool.ts'
import type { Schema } from './schema.gen.ts'
import { isStalePlan } from './statement.ts'

/** The database or an open transaction; store functions accept both. */
export type Db = Kysely<Schema>
/** An open transaction. Functions that take row locks require it, so passing the pool does not compile. */
export type Tx = Transaction<Schema>

/** The database through a connection pool, or through a new pool for the URL. */
export function createDb(pool: ConnectionPool | string, options: { max?: number } = {}) {
  const connections = typeof pool === 'string' ? createConnectionPool(pool, { max: options.max ?? 1 }) : pool
  return new Kysely<Schema>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new PoolDriver(connections),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  })
}

export function isTransaction(db: Db): db is Tx {
  return db.isTransaction
}

/**
 * Runs `work` in a new transaction, or in the one that is open. Inside, use only the context that it passes: all calls
 * with it join the transaction. Rolls back when `work` throws.
 */
export async function transact<C extends { db: Db }, T>(
  ctx: C,
  work: (ctx: Omit<C, 'db'> & { db: Tx }) => Promise<T>,
): Promise<T> {
  if (isTransaction(ctx.db)) return work({ ...ctx, db: ctx.db })
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
    if (isWorkDone && !isDefinitelyRejected(error)) callOnDoubt(listeners)
    throw error
  }
}

const commitListeners = new WeakMap<Db, (() => void)[]>()

/** A COMMIT whose response was lost may still be on its way to the disk for this long, in ms. */
const DOUBTFUL_COMMIT_MS = 5_000

function callOnDoubt(listeners: readonly (() => void)[]) {
  for (const listener of listeners) {
    setImmediate(listener)
    setTimeout(listener, DOUBTFUL_COMMIT_MS).unref()
  }
}

/**
 * Calls `listener` soon after the transaction, one of `transact`, has committed; outside of a transaction, soon. It is called twice when
 * the response to the COMMIT is lost, whatever has become of the transaction, and not at all when the process dies meanwhile: only for
 * hints. A transaction that `transact` has not begun calls nothing.
 */
export function afterCommit(db: Db, listener: () => void) {
  if (isTransaction(db)) commitListeners.get(db)?.push(listener)
  else setImmediate(listener)
}

/** Whether a driver error is the violation of a unique constraint (of the given name, if any). */
export function isUniqueViolation(error: unknown, constraint?: string) {
  return isDatabaseError(error, '23505') && (constraint === undefined || error.constraint === constraint)
}

/**
 * Whether a driver error is the violation of a foreign key: the row is still referenced, or the referenced row is
 * missing.
 */
export function isForeignKeyViolation(error: unknown, constraint?: string) {
  return isDatabaseError(error, '23503') && (constraint === undefined || error.constraint === constraint)
}

/** Error codes for values that no column of the type can hold: out of range, not a date, too large for an index. */
const REFUSED_VALUES = new Set(['22001', '22003', '22007', '22008', '22021', '22P02', '22P05', '54000'])

/** Whether a driver error means that a given value can't be stored or compared. */
export function isRefusedValue(error: unknown) {
  return isCoded(error) && REFUSED_VALUES.has(error.code)
}

/** Errors that the driver and its pool report only by their message. */
const NO_CONNECTION =
  /^(Connection terminated|timeout exceeded when trying to|Client has encountered a connection error)/

/**
 * Whether a driver error means that the database is unreachable, or that it aborted this transaction in favour of
 * another. The same request may succeed in a moment.
 */
export function isUnavailable(error: unknown) {
  if (!(error instanceof Error)) return false
  if (NO_CONNECTION.test(error.message) || isStalePlan(error)) return true
  if (!isCoded(error)) return false
  const isConnecting = 'syscall' in error && error.syscall === 'connect'
  return isConnecting || /^(?:ECONNRESET|EPIPE|08...|57P0[1-3]|53300|40001|40P01)$/.test(error.code)
}

/** Whether an error comes from the database, or from the way to it, and not from the code that has asked it. */
export function isDatabaseFailure(error: unknown) {
  return error instanceof pg.DatabaseError || isUnavailable(error)
}

/**
 * Classes of errors after which a transaction may still have been committed: lost connections, a lack of resources,
 * an operator who ends sessions, failures of the system and of the database itself.
 */
const UNSURE = /^(?:08|53|57P|58|F0|XX)/

/**
 * Whether nothing of a change is kept that failed with this error: our own code or the database has refused it before the COMMIT.
 * Any other error may mean that only the response to the COMMIT was lost. What the change would have named may be deleted in the
 * first case only; otherwise it is left to a sweep.
 */
export function isDefinitelyRejected(error: unknown) {
  if (error instanceof AppError) return true
  return error instanceof pg.DatabaseError && isCoded(error) && !UNSURE.test(error.code)
}

function isCoded(error: unknown): error is { code: string } {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
}

function isDatabaseError(error: unknown, code: string): error is { code: string; constraint?: string } {
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

/** The requested page of a list. */
export type Page = { number: number; size: number }

/** The rows of one page, and the number of rows on all pages. */
export type Paged<T> = { rows: T[]; total: number }

export function pageOffset(page: Page) {
  return (page.number - 1) * page.size
}

/**
 * Runs a change that sets the name of a resource. Throws `invalid` with the detail when the change violates the unique
 * constraint: another resource has the name.
 */
export async function refuseTakenName<T>(
  { constraint, detail = 'Name has already been taken' }: { constraint: string; detail?: string },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isUniqueViolation(error, constraint)) throw invalid(detail, '/data/attributes/name')
    throw error
  }
}
