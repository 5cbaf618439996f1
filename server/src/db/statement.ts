import { LRUCache } from 'lru-cache'
import pg from 'pg'

/** An untyped export of the package that converts a value for the database. */
type Untyped = { utils: { prepareValue: (value: unknown) => Buffer | string | null } }
const { prepareValue } = (pg as typeof pg & Untyped).utils

type Field = { name: string; dataTypeID: Parameters<typeof pg.types.getTypeParser>[0] }
export type StatementResult = { command: string | undefined; rowCount: number | null; rows: Record<string, unknown>[] }

const NO_ROWS: Shape = { names: [], parsers: [], blank: {} }

/**
 * One execution of a statement, prepared if it repeats. The driver's own query has the columns described at each execution, which for a wide row
 * costs as much as the row itself. Here they are described once: the database rejects a prepared statement whose columns changed
 * (`isStalePlan`).
 */
export class Statement {
  readonly result: Promise<StatementResult>
  #text: string
  #values: (Buffer | string | null)[]
  #cache: StatementCache
  #prepared: Prepared | undefined
  #shape: Shape | undefined
  #result: StatementResult = { command: undefined, rowCount: null, rows: [] }
  #fault: unknown
  #settle: { resolve: (result: StatementResult) => void; reject: (error: unknown) => void }

  constructor({ text, values }: { text: string; values: readonly unknown[] }, cache: StatementCache) {
    this.#text = text
    this.#values = values.map((value) => prepareValue(value))
    this.#cache = cache
    const { promise, ...settle } = Promise.withResolvers<StatementResult>()
    this.result = promise
    this.#settle = settle
  }

  /** Writes all messages of the execution except the final Sync. */
  write(connection: pg.Connection) {
    this.#prepared = this.#cache.get(this.#text)
    const { name, shape } = this.#prepared
    this.#shape = shape
    if (!shape) {
      // The name may belong to an evicted statement, or to this one if its first execution failed. Closing an unused name is no error.
      connection.close({ type: 'S', name }, true)
      connection.parse({ name, text: this.#text, types: [] }, true)
    }
    connection.bind({ statement: name, values: this.#values }, true)
    if (!shape) connection.describe({ type: 'P', name: '' }, true)
    connection.execute(null, true)
  }

  handleRowDescription({ fields }: { fields: Field[] }) {
    const names = fields.map((field) => field.name)
    const parsers = fields.map((field) => pg.types.getTypeParser(field.dataTypeID, 'text'))
    this.#shape = { names, parsers, blank: Object.fromEntries(names.map((name) => [name, null])) }
  }

  handleDataRow({ fields }: { fields: (string | null)[] }) {
    const { names, parsers, blank } = this.#shape ?? NO_ROWS
    const row = { ...blank }
    try {
      for (let index = 0; index < names.length; index += 1) {
        const text = fields[index] ?? null
        row[names[index] ?? ''] = text === null ? null : parsers[index]?.(text)
      }
    } catch (error) {
      // Reported after the rest of the response was read.
      this.#fault ??= error
    }
    this.#result.rows.push(row)
  }

  handleCommandComplete({ text }: { text: string }) {
    const [command, ...counts] = text.split(' ')
    this.#result.command = command
    const count = Number(counts.at(-1))
    this.#result.rowCount = Number.isInteger(count) ? count : null
  }

  /** The response is complete, and no statement of the same pipeline failed. */
  succeed() {
    if (this.#prepared) this.#prepared.shape = this.#shape ?? NO_ROWS
    if (this.#fault === undefined) this.#settle.resolve(this.#result)
    else this.#settle.reject(this.#fault)
  }

  fail(error: unknown) {
    if (this.#prepared && isStalePlan(error)) this.#prepared.shape = undefined
    this.abandon(error)
  }

  /** Rejects because another statement of the same pipeline failed. */
  abandon(error: unknown) {
    this.#settle.reject(error)
  }
}

/** Whether a prepared statement was rejected because its columns changed: another replica migrated the database. */
export function isStalePlan(error: unknown) {
  return error instanceof pg.DatabaseError && error.code === '0A000' && error.routine === 'RevalidateCachedQuery'
}

/**
 * Statements that are sent together, in one round trip. They run in order, and each sees the changes of those before it. When one fails,
 * those after it are not executed, and all of them fail with its error.
 */
export class Pipeline implements pg.Submittable {
  readonly statements: readonly Statement[]
  #completed = 0

  constructor(statements: readonly Statement[]) {
    this.statements = statements
  }

  /** Called by the driver once all earlier pipelines completed, so no two use a prepared statement at the same time. */
  submit(connection: pg.Connection) {
    // `cork` sends the messages as one write to the socket.
    connection.stream.cork()
    for (const statement of this.statements) statement.write(connection)
    connection.sync()
    connection.stream.uncork()
  }

  handleRowDescription(description: { fields: Field[] }) {
    this.statements[this.#completed]?.handleRowDescription(description)
  }

  handleDataRow(row: { fields: (string | null)[] }) {
    this.statements[this.#completed]?.handleDataRow(row)
  }

  handleCommandComplete(complete: { text: string }) {
    this.statements[this.#completed]?.handleCommandComplete(complete)
    this.#completed += 1
  }

  handleEmptyQuery() {
    this.#completed += 1
  }

  handleReadyForQuery() {
    for (const statement of this.statements) statement.succeed()
  }

  handleError(error: unknown) {
    for (const [index, statement] of this.statements.entries()) {
      if (index === this.#completed) statement.fail(error)
      else statement.abandon(error)
    }
  }
}

/**
 * Maximum number of prepared statements per connection. Each takes about 130 KB of the database's memory on each connection; 64 cover nearly all
 * executions of a server that handles runs (docs/decisions/prepared-statements.md).
 */
export const MAX_PREPARED = 64

/** Recent statements of all connections. Preparing a statement that runs once costs more than it saves. */
const seen = new LRUCache<string, true>({ max: 1000 })

/** How to read the rows of a statement; `blank` is an empty row to copy. */
type Shape = { names: string[]; parsers: ((text: string) => unknown)[]; blank: Record<string, unknown> }

/** A name in the database. Without a shape, the statement must still be prepared under it. */
type Prepared = { name: string; shape: Shape | undefined }

export type StatementCache = { get: (text: string) => Prepared }

/** For connections that keep none: each statement is prepared for one execution, in the same round trip. */
export const UNPREPARED: StatementCache = { get: () => ({ name: '', shape: undefined }) }

/** Keeps the most recently used of the repeated statements. New ones are unnamed: the database overwrites the unnamed statement. */
export function createStatementCache(): StatementCache {
  const statements = new LRUCache<string, Prepared>({ max: MAX_PREPARED })
  return {
    get(text) {
      const existing = statements.get(text)
      if (existing) return existing
      if (!seen.get(text)) {
        seen.set(text, true)
        return { name: '', shape: undefined }
      }
      const { size } = statements
      const evicted = size < MAX_PREPARED ? undefined : statements.pop()
      const added = { name: evicted?.name ?? `s${size}`, shape: undefined }
      statements.set(text, added)
      return added
    },
  }
}
