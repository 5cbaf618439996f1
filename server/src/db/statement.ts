import pg from 'pg'
import type { Place, Places, Shape } from './prepared.ts'

/** An export of the package without a type: it converts a value for the database. */
type Untyped = { utils: { prepareValue: (value: unknown) => Buffer | string | null } }
const { prepareValue } = (pg as typeof pg & Untyped).utils

type Field = { name: string; dataTypeID: Parameters<typeof pg.types.getTypeParser>[0] }
export type StatementResult = { command: string | undefined; rowCount: number | null; rows: Record<string, unknown>[] }

const NO_ROWS: Shape = { names: [], parsers: [], blank: {} }

/**
 * One execution of a statement, which the connection prepares when it repeats. The driver's own query has the database
 * describe the columns each time, which for a wide row costs as much as the row itself. Here they are described once.
 * The columns can't change later: the database refuses a prepared statement whose columns would change (`isStalePlan`).
 */
export class Statement {
  readonly result: Promise<StatementResult>
  #text: string
  #values: (Buffer | string | null)[]
  #places: Places
  #place: Place | undefined
  #shape: Shape | undefined
  #result: StatementResult = { command: undefined, rowCount: null, rows: [] }
  #fault: unknown
  #settle: { resolve: (result: StatementResult) => void; reject: (error: unknown) => void }

  constructor({ text, values }: { text: string; values: readonly unknown[] }, places: Places) {
    this.#text = text
    this.#values = values.map((value) => prepareValue(value))
    this.#places = places
    const { promise, ...settle } = Promise.withResolvers<StatementResult>()
    this.result = promise
    this.#settle = settle
  }

  /** Writes all messages of the execution except the final Sync. */
  write(connection: pg.Connection) {
    this.#place = this.#places.placeOf(this.#text)
    const { name, shape } = this.#place
    this.#shape = shape
    if (!shape) {
      // The place may hold an older statement, or this one if its first run failed. Closing an empty place is no error.
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
      // The error is reported after the rest of the response was read.
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
    if (this.#place) this.#place.shape = this.#shape ?? NO_ROWS
    if (this.#fault === undefined) this.#settle.resolve(this.#result)
    else this.#settle.reject(this.#fault)
  }

  fail(error: unknown) {
    if (this.#place && isStalePlan(error)) this.#place.shape = undefined
    this.abandon(error)
  }

  /** Another statement, which was written along with it, has failed. */
  abandon(error: unknown) {
    this.#settle.reject(error)
  }
}

/** Whether a statement was refused because its columns have changed: another replica has migrated the database. */
export function isStalePlan(error: unknown) {
  return error instanceof pg.DatabaseError && error.code === '0A000' && error.routine === 'RevalidateCachedQuery'
}
